// SPDX-License-Identifier: Apache-2.0
// Everything that lives as long as a run on one device: the device, its telemetry, its runner.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "app/case_runner.h"
#include "app/progress.h"
#include "gpubench/device.h"
#include "gpubench/telemetry.h"
#include "measure/telemetry_recorder.h"

namespace gpubench {

struct BenchOptions {
  SamplingPolicy policy;
  bool verify = true;
  bool profile = false;
  bool tell_state = false;  ///< clock, power and temperature every ten seconds (burn)
};

class DeviceBench {
 public:
  /// `described` (entry `index` of the report's devices), `libraries`, `environment` and `progress`
  /// outlive it. Throws DeviceError.
  DeviceBench(const ReportDevice& described, int index, Libraries& libraries,
              const BenchOptions& options, const std::map<std::string, std::string>& environment,
              Progress& progress);
  DeviceBench(const DeviceBench&) = delete;
  DeviceBench& operator=(const DeviceBench&) = delete;

  CaseRunner& runner() { return *runner_; }

 private:
  void tell_state(const SamplingProgress& state);

  const ReportDevice& described_;
  // Destroyed in reverse order.
  std::unique_ptr<Device> device_;
  std::unique_ptr<TelemetrySource> source_;
  std::optional<TelemetryRecorder> recorder_;
  std::optional<CaseRunner> runner_;
  double told_at_s_;
};

}  // namespace gpubench
