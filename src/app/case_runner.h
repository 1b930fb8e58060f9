// SPDX-License-Identifier: Apache-2.0
// From a case to a result on one device. Nothing a case does ends the run.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "app/case_result.h"
#include "app/progress.h"
#include "core/stopping.h"
#include "core/suite.h"
#include "gpubench/report.h"
#include "libs/libraries.h"
#include "measure/device_clock.h"
#include "measure/gathering.h"
#include "measure/sampler.h"
#include "measure/telemetry_recorder.h"
#include "world/thread_world.h"

namespace gpubench {

/// Of cases that are measured together.
struct GroupResults {
  std::vector<Result> results;  ///< in the order of the cases
  std::vector<Comparison> comparisons;
};

class CaseRunner {
 public:
  struct Setup {
    Device& device;
    Libraries& libraries;
    const ReportDevice& described;  ///< what the report says of the device
    int device_index;               ///< into Report::devices
    TelemetrySource* source;        ///< nullptr: no telemetry
    TelemetryRecorder* telemetry;   ///< reads the source
    SamplingPolicy policy;
    bool verify;
    bool profile;  ///< one iteration for a profiler instead of measuring
    /// Called a few times a second while sampling; may be empty.
    std::function<void(const SamplingProgress&)> watch;
    const std::map<std::string, std::string>& environment;  ///< as recorded in the report
  };

  CaseRunner(Setup setup, Progress& progress);

  /// `not_run` with E_INTERRUPTED where a requested stop came before the result was there.
  /// With a gathering: samples while its other members do, and keeps the device under load until
  /// the last of them has its samples; then no progress is told.
  Result run(const Case& work, std::stop_token stop, Gathering* gathering = nullptr);
  /// Samples the cases in turn and compares each with the first that can be measured; one alone is
  /// measured as run() does.
  GroupResults run_in_turn(std::span<const Case> cases, std::stop_token stop);
  /// Set after a fault that leaves the device unusable for this process: what remains can't run.
  const Reason& lost() const { return lost_; }
  bool hung() const { return hung_; }

 private:
  /// A case under way.
  struct Running {
    const Case* work;
    Result result;
    /// A job that waits for a library looks there whether it is to stop.
    std::unique_ptr<ThreadWorld> world;
    std::unique_ptr<Job> job;
  };

  Running start(const Case& work) const;
  /// Does a step; what it throws becomes the result's. True if the case can go on.
  bool attempt(Running& running, const std::function<bool()>& step);
  bool prepare(Running& running);
  bool check(Running& running, const char* when);
  bool measure_alone(Running& running, Membership& member);
  void take_clock(Running& running, const std::optional<double>& counted);
  void keep_company(Running& running, const Membership& member);
  void phase(const char* what);
  void sampling(const Running& running, const SamplingProgress& state);
  void measure_in_turn(const std::vector<Running*>& sides, std::vector<Comparison>& comparisons);
  void finish(Running& running);
  void require_memory(const Case& work);
  bool stopped(Result& result) const;
  void profile(Running& running);
  void take(const DeviceError& error, Running& running);

  Setup setup_;
  Progress& progress_;
  std::stop_token stop_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Stream> side_stream_;  ///< for what is looked at meanwhile
  ClockProbe probe_;  ///< not one per case: freeing its memory would wait for a kernel that hangs
  double looked_at_s_ = 0;
  bool complained_ = false;
  bool alone_ = true;  ///< no other device is measured at the same time
  Reason lost_;
  bool hung_ = false;
};

}  // namespace gpubench
