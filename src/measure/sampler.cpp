// SPDX-License-Identifier: Apache-2.0
#include "measure/sampler.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "core/statistics.h"
#include "gpubench/error.h"
#include "measure/host_samples.h"
#include "measure/sample_stream.h"

namespace gpubench {
namespace {

// A sample that launches kernels one by one is only honest while the host keeps well ahead of the
// device; below this time per iteration, or when enqueueing takes this share of it, a graph of the
// batch is launched.
constexpr double kGraphBelowS = 50e-6;
constexpr double kGraphAboveHostShare = 0.4;
constexpr double kQueueAheadS = 20e-3;
constexpr std::size_t kMaxGraphNodes = 16384;

// Warm-up is over when this many windows in a row agree.
constexpr double kWindowS = 0.15;
constexpr std::size_t kFlatWindows = 3;
constexpr double kFlatWithin = 0.005;

constexpr double kProgressEveryS = 0.2;

struct Estimate {
  double iteration_s = 0;  // device time per iteration, launches included
  double host_s = 0;       // host time to enqueue one
};

/// Doubles the number of iterations until they last long enough to be timed.
Estimate estimate(Device& device, Stream& stream, Job& job) {
  job.enqueue(stream, 0);  // first call: module load and plan upload stay out of the estimate
  stream.synchronize();
  auto begin = device.make_event();
  auto end = device.make_event();
  Estimate result;
  for (std::size_t count = 1; count <= 4096; count *= 2) {
    begin->record(stream);
    const double host_begin = steady_seconds();
    for (std::size_t i = 0; i < count; ++i) job.enqueue(stream, i);
    const double host_end = steady_seconds();
    end->record(stream);
    stream.synchronize();
    const double total = end->seconds_since(*begin);
    result = {total / double(count), (host_end - host_begin) / double(count)};
    if (total > 2e-3) break;
  }
  return result;
}

std::size_t batch_for(double iteration_s, double sample_s) {
  if (!(iteration_s > 0)) return 4096;
  return std::size_t(std::clamp(std::ceil(sample_s / iteration_s), 1.0, 1e6));
}

BatchPlan plan_batch(Device& device, Stream& stream, Job& job, const SamplingPolicy& policy) {
  const Estimate time = estimate(device, stream, job);
  BatchPlan plan;
  if (device.info().kind == DeviceKind::cpu) {
    plan.iterations = batch_for(time.iteration_s, policy.sample_s);
    return plan;  // enqueueing computes, so nothing can be queued ahead
  }
  const bool short_kernel =
      job.timing() == Timing::queued &&
      (time.iteration_s < kGraphBelowS || time.host_s > kGraphAboveHostShare * time.iteration_s);
  plan.iterations = batch_for(time.iteration_s, policy.sample_s);
  if (short_kernel) {
    // Launch-bound estimates are too long, so the batch is made for twice the sample's length;
    // whole rotations, so that a replay meets every buffer set as the stream would.
    const std::size_t sets = std::max<std::size_t>(job.sets(), 1);
    std::size_t nodes = std::max(2 * plan.iterations, sets);
    nodes =
        std::min((nodes + sets - 1) / sets * sets, std::max(kMaxGraphNodes / sets * sets, sets));
    plan.graph = device.capture(stream, [&] {
      for (std::size_t i = 0; i < nodes; ++i) job.enqueue(stream, i);
    });
    if (plan.graph) plan.iterations = nodes;
  }
  // In this order of arguments a NaN from a faulty timer becomes the bound.
  const double sample_s = std::max(1e-6, time.iteration_s * double(plan.iterations));
  plan.depth = std::size_t(std::clamp(std::ceil(kQueueAheadS / sample_s), 2.0, 64.0)) + 1;
  return plan;
}

/// Where the samples come from, and what the report calls that.
struct Source {
  std::unique_ptr<Samples> samples;
  std::string kind;
};

Source source_of(Device& device, Stream& stream, Job& job, const SamplingPolicy& policy,
                 double hang_s) {
  const bool on_cpu = device.info().kind == DeviceKind::cpu;
  const Timing timing = job.timing();
  if (!on_cpu && (timing == Timing::enqueue || timing == Timing::latency)) {
    return {std::make_unique<HostSamples>(stream, job, timing, hang_s),
            timing == Timing::enqueue ? "enqueue" : "latency"};
  }
  BatchPlan plan = plan_batch(device, stream, job, policy);
  std::string kind = on_cpu ? "host" : plan.graph ? "graph" : "stream";
  return {std::make_unique<SampleStream>(device, stream, job, std::move(plan), hang_s),
          std::move(kind)};
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

void collect(Samples& samples, const SamplingPolicy& policy, const std::stop_token& stop,
             const ProgressFn& progress, Measurement& measurement) {
  StoppingRule rule(policy);
  const double per_iteration = 1.0 / double(samples.iterations());
  measurement.begin_s = steady_seconds();
  double next_report = measurement.begin_s + kProgressEveryS;
  std::string reason;
  double device_s = 0;
  while (reason.empty()) {
    const double seconds = samples.next(stop);
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
                    std::stop_token stop, const ProgressFn& progress, double hang_s) {
  const Source source = source_of(device, stream, job, policy, hang_s);
  Samples& samples = *source.samples;
  Measurement measurement;
  measurement.kind = source.kind;
  measurement.batch = std::int64_t(samples.iterations());
  measurement.warmup_s = warm_up(samples, policy, stop, progress);
  const std::size_t starved_before = samples.starved();
  collect(samples, policy, stop, progress, measurement);
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
