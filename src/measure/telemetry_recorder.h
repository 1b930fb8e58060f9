// SPDX-License-Identifier: Apache-2.0
// A thread that reads a telemetry source into its own buffer; measurements are joined by time
// stamp.
#pragma once

#include <condition_variable>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "gpubench/telemetry.h"

namespace gpubench {

class TelemetryRecorder {
 public:
  /// Starts reading every `period_s`. The source outlives the recorder.
  explicit TelemetryRecorder(TelemetrySource& source, double period_s = 0.02);

  /// What the readings between the two times (steady_seconds) say.
  Telemetry window(double begin_s, double end_s) const;
  /// Those within any of the spans, which are in order.
  Telemetry window(std::span<const TimeSpan> spans) const;
  /// Forgets readings before `t_s`, so that a long run does not grow.
  void forget_before(double t_s);

 private:
  void record(const std::stop_token& stop);

  TelemetrySource& source_;
  double period_s_;
  mutable std::mutex mutex_;
  std::condition_variable_any wake_;
  std::vector<TelemetryReading> readings_;
  std::jthread thread_;  // last member: joins before the others go
};

}  // namespace gpubench
