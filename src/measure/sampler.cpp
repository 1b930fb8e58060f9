// SPDX-License-Identifier: Apache-2.0
#include "measure/sampler.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "core/statistics.h"
#include "gpubench/error.h"
#include "measure/batch_plan.h"
#include "measure/host_samples.h"
#include "measure/sample_stream.h"

namespace gpubench {
namespace {

// Warm-up is over when this many windows in a row agree: more than a second, since the control of a
// power limit swings with about that period, with level stretches in it.
constexpr double kWindowS = 0.15;
constexpr std::size_t kFlatWindows = 7;
constexpr double kFlatWithin = 0.005;

constexpr double kProgressEveryS = 0.2;

/// Where the samples come from; `measurement` is told what the report says of it.
std::unique_ptr<Samples> samples_of(Device& device, Stream& stream, Job& job,
                                    const SamplingPolicy& policy, LoadMode mode, double hang_s,
                                    Measurement& measurement) {
  const Timing timing = job.timing();
  if (device.info().kind != DeviceKind::cpu &&
      (timing == Timing::enqueue || timing == Timing::latency)) {
    auto samples = std::make_unique<HostSamples>(stream, job, timing, hang_s);
    measurement.kind = timing == Timing::enqueue ? "enqueue" : "latency";
    measurement.batch = std::int64_t(samples->iterations());
    return samples;
  }
  measurement.timer_resolution_s = timer_resolution(device, stream);
  BatchPlan plan = plan_batch(device, stream, job, policy, measurement.timer_resolution_s);
  describe(device, plan, measurement);
  if (mode == LoadMode::burst) plan.depth = 1;
  return std::make_unique<SampleStream>(device, stream, job, std::move(plan), hang_s);
}

/// Load until time per iteration is flat. Returns seconds of load, or nothing when interrupted.
double warm_up(Samples& samples, const SamplingPolicy& policy, const std::stop_token& stop,
               const ProgressFn& progress) {
  const double begin = steady_seconds();
  std::deque<double> windows;  // mean time per sample of the last windows
  double window_s = 0, device_s = 0;
  double window_samples = 0;
  double next_report = begin + kProgressEveryS;
  while (policy.warmup_s > 0) {
    const double seconds = samples.next(stop);
    if (std::isfinite(seconds)) {
      window_s += seconds;
      device_s += seconds;
    }
    // Device time; wall time as well, so that a timer stuck at zero can't keep us here.
    const double elapsed = std::max(device_s, steady_seconds() - begin);
    if (stop.stop_requested() || elapsed >= policy.warmup_s) return elapsed;
    window_samples += 1;
    if (window_s >= kWindowS) {
      windows.push_back(window_s / window_samples);
      if (windows.size() > kFlatWindows) windows.pop_front();
      window_s = window_samples = 0;
      const auto [low, high] = std::minmax_element(windows.begin(), windows.end());
      if (windows.size() == kFlatWindows && *high - *low <= kFlatWithin * *low) return elapsed;
    }
    if (progress && steady_seconds() >= next_report) {
      progress({elapsed, 0, 0});
      next_report = steady_seconds() + kProgressEveryS;
    }
  }
  return 0;
}

/// The host sleeps too: a stop is seen within milliseconds.
void rest(double seconds, const std::stop_token& stop) {
  const double begin = steady_seconds();
  while (steady_seconds() - begin < seconds && !stop.stop_requested()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

/// `next` gives the seconds of the next sample.
void collect(const std::function<double()>& next, double per_iteration,
             const SamplingPolicy& policy, const std::stop_token& stop, const ProgressFn& progress,
             Measurement& measurement) {
  StoppingRule rule(policy);
  measurement.begin_s = steady_seconds();
  double next_report = measurement.begin_s + kProgressEveryS;
  std::string reason;
  double device_s = 0;
  while (reason.empty()) {
    const double seconds = next();
    const double now = steady_seconds();
    if (std::isfinite(seconds)) device_s += seconds;
    if (stop.stop_requested()) {
      reason = "interrupted";
      break;
    }
    reason = rule.add(seconds * per_iteration, std::max(device_s, now - measurement.begin_s));
    if (progress && now >= next_report) {
      progress({now - measurement.begin_s, median(rule.samples()), rule.noise()});
      next_report = now + kProgressEveryS;
    }
  }
  measurement.end_s = steady_seconds();
  measurement.stop = reason;
  measurement.dropped = rule.dropped();
  measurement.samples_s = rule.samples();
}

}  // namespace

Measurement measure(Device& device, Stream& stream, Job& job, const SamplingPolicy& policy,
                    std::stop_token stop, const ProgressFn& progress, double hang_s, LoadMode mode,
                    const BoundaryFn& boundary) {
  Measurement measurement;
  const std::unique_ptr<Samples> source =
      samples_of(device, stream, job, policy, mode, hang_s, measurement);
  Samples& samples = *source;
  const bool burst = mode == LoadMode::burst;
  if (!burst) measurement.warmup_s = warm_up(samples, policy, stop, progress);
  const std::size_t starved_before = samples.starved();
  if (boundary) boundary(true);
  const auto next = [&] {
    if (burst) {
      rest(kBurstRestS, stop);
      samples.restart(/*lead_in=*/true);
    }
    return samples.next(stop);
  };
  collect(next, 1.0 / double(samples.iterations()), policy, stop, progress, measurement);
  if (boundary) boundary(false);
  const double starved = double(samples.starved() - starved_before);
  // Where the host's calls are what is measured, waiting for them is no fault.
  measurement.launch_bound = device.info().kind != DeviceKind::cpu &&
                             job.timing() == Timing::queued &&
                             starved > 0.05 * double(measurement.samples_s.size());
  if (measurement.stop == "bad_timer" ||
      (measurement.samples_s.empty() && measurement.stop != "interrupted")) {
    throw DeviceError("E_BAD_TIMER", "the device's timer returned no usable time in " +
                                         std::to_string(measurement.dropped) + " samples");
  }
  if (measurement.stop != "interrupted") stream.synchronize();
  return measurement;
}

}  // namespace gpubench
