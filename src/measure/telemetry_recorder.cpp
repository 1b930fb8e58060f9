// SPDX-License-Identifier: Apache-2.0
#include "measure/telemetry_recorder.h"

#include <algorithm>
#include <chrono>

namespace gpubench {

TelemetryRecorder::TelemetryRecorder(TelemetrySource& source, double period_s)
    : source_(source),
      period_s_(period_s),
      thread_([this](const std::stop_token& stop) { record(stop); }) {}

void TelemetryRecorder::record(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const TelemetryReading reading = source_.read();
    std::unique_lock lock(mutex_);
    readings_.push_back(reading);
    wake_.wait_for(lock, stop, std::chrono::duration<double>(period_s_), [] { return false; });
  }
}

Telemetry TelemetryRecorder::window(double begin_s, double end_s) const {
  const std::lock_guard lock(mutex_);
  return summarize(readings_, begin_s, end_s);
}

Telemetry TelemetryRecorder::window(std::span<const TimeSpan> spans) const {
  const std::lock_guard lock(mutex_);
  return summarize(readings_, spans);
}

void TelemetryRecorder::forget_before(double t_s) {
  const std::lock_guard lock(mutex_);
  std::erase_if(readings_, [&](const TelemetryReading& reading) { return reading.t_s < t_s; });
}

}  // namespace gpubench
