// SPDX-License-Identifier: Apache-2.0
#include "measure/host_samples.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gpubench/telemetry.h"

namespace gpubench {
namespace {

// Calls are timed in batches of about this long: far above the clock's resolution, and with a few
// microseconds a launch far below the thousand launches that a stream's queue holds.
constexpr double kCallsS = 100e-6;
constexpr double kMostCalls = 64;
constexpr std::size_t kCallsForEstimate = 8;

}  // namespace

HostSamples::HostSamples(Stream& stream, Job& job, Timing timing, double hang_s)
    : stream_(stream), job_(job), timing_(timing), hang_s_(hang_s) {
  job_.enqueue(stream_, iteration_++);  // first call: module load and upload
  stream_.synchronize();
  if (timing_ != Timing::enqueue) return;
  const double begin = steady_seconds();
  for (std::size_t i = 0; i < kCallsForEstimate; ++i) job_.enqueue(stream_, iteration_++);
  const double each = (steady_seconds() - begin) / double(kCallsForEstimate);
  stream_.synchronize();
  iterations_ = std::size_t(std::clamp(std::ceil(kCallsS / std::max(each, 1e-9)), 1.0, kMostCalls));
}

bool HostSamples::wait(const std::stop_token& stop) {
  const double since = steady_seconds();
  // No pause between two looks: its length would be part of the latency.
  while (!stream_.idle()) {
    if (stop.stop_requested()) return false;
    if (steady_seconds() - since > hang_s_) throw_hang(hang_s_);
  }
  return true;
}

double HostSamples::next(const std::stop_token& stop) {
  constexpr double kStopped = -std::numeric_limits<double>::infinity();
  if (!wait(stop)) return kStopped;
  const double begin = steady_seconds();
  for (std::size_t i = 0; i < iterations_; ++i) job_.enqueue(stream_, iteration_++);
  const double called = steady_seconds();
  if (!wait(stop)) return kStopped;
  return (timing_ == Timing::enqueue ? called : steady_seconds()) - begin;
}

}  // namespace gpubench
