// SPDX-License-Identifier: Apache-2.0
#include "measure/batch_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "gpubench/telemetry.h"

namespace gpubench {
namespace {

// A sample that launches kernels one by one is only honest while the host keeps well ahead of the
// device; below this time per iteration, or when enqueueing takes this share of it, a graph of the
// batch is launched.
constexpr double kGraphBelowS = 50e-6;
constexpr double kGraphAboveHostShare = 0.4;
/// A sample that is this many steps of the timer long is known to 0.5 %.
constexpr double kStepsPerSample = 200;
constexpr std::size_t kProbedEvents = 64;
/// Distances of time stamps are differences of floats: closer ones are the same.
constexpr double kRoundingS = 1e-10;
constexpr double kCoarsestTimerS = 50e-3;

constexpr double kQueueAheadS = 20e-3;
constexpr std::size_t kMaxGraphNodes = 16384;

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

}  // namespace

double timer_resolution(Device& device, Stream& stream) {
  std::vector<std::unique_ptr<Event>> events;
  for (std::size_t i = 0; i < kProbedEvents; ++i) events.push_back(device.make_event());
  for (const auto& event : events) event->record(stream);
  stream.synchronize();
  // Time stamps follow each other by whole steps: two distances that differ, differ by one at
  // least.
  std::vector<double> distances{0};
  for (std::size_t i = 1; i < events.size(); ++i) {
    distances.push_back(events[i]->seconds_since(*events[i - 1]));
  }
  std::erase_if(distances, [](double distance) { return !(distance >= 0); });
  std::sort(distances.begin(), distances.end());
  double smallest = std::numeric_limits<double>::infinity();
  for (std::size_t i = 1; i < distances.size(); ++i) {
    const double step = distances[i] - distances[i - 1];
    if (step > kRoundingS) smallest = std::min(smallest, step);
  }
  if (std::isfinite(smallest)) return smallest;
  // A coarse timer: wait for it to move.
  const double begin = steady_seconds();
  while (steady_seconds() - begin < kCoarsestTimerS) {
    events[1]->record(stream);
    stream.synchronize();
    const double elapsed = events[1]->seconds_since(*events[0]);
    if (elapsed > kRoundingS) return elapsed;
  }
  return 0;
}

BatchPlan plan_batch(Device& device, Stream& stream, Job& job, const SamplingPolicy& policy,
                     double timer_resolution_s) {
  const Estimate time = estimate(device, stream, job);
  const double least_s = std::max(policy.sample_s, kStepsPerSample * timer_resolution_s);
  BatchPlan plan;
  if (device.info().kind == DeviceKind::cpu) {
    plan.iterations = batch_for(time.iteration_s, least_s);
    return plan;  // enqueueing computes, so nothing can be queued ahead
  }
  const bool short_kernel =
      job.timing() == Timing::queued &&
      (time.iteration_s < kGraphBelowS || time.host_s > kGraphAboveHostShare * time.iteration_s);
  plan.iterations = batch_for(time.iteration_s, least_s);
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

void describe(const Device& device, const BatchPlan& plan, Measurement& measurement) {
  measurement.kind = device.info().kind == DeviceKind::cpu ? "host"
                     : plan.graph                          ? "graph"
                                                           : "stream";
  measurement.batch = std::int64_t(plan.iterations);
}

}  // namespace gpubench
