// SPDX-License-Identifier: Apache-2.0
// From a case to a result on one device. Nothing a case does ends the run.
#pragma once

#include <map>
#include <memory>
#include <stop_token>
#include <string>

#include "app/progress.h"
#include "core/stopping.h"
#include "core/suite.h"
#include "gpubench/report.h"
#include "libs/libraries.h"
#include "measure/telemetry_recorder.h"

namespace gpubench {

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
    const std::map<std::string, std::string>& environment;  ///< as recorded in the report
  };

  CaseRunner(Setup setup, Progress& progress);

  /// `not_run` with E_INTERRUPTED where a requested stop came before the result was there.
  Result run(const Case& work, std::stop_token stop);
  /// Set after a fault that leaves the device unusable for this process: what remains can't run.
  const Reason& lost() const { return lost_; }
  bool hung() const { return hung_; }

 private:
  void execute(const Case& work, World& world, Result& result);
  void require_memory(const Case& work);
  bool stopped(Result& result) const;
  void profile(const Case& work, Result& result);
  void take(const DeviceError& error, Result& result);

  Setup setup_;
  Progress& progress_;
  std::stop_token stop_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Job> job_;  ///< of the case under way
  Reason lost_;
  bool hung_ = false;
};

/// A result that says what would have run and why it did not.
Result unrun_result(const Case& work, int device_index, const std::string& reproduce_device,
                    Reason reason);

}  // namespace gpubench
