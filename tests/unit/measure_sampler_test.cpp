// SPDX-License-Identifier: Apache-2.0
// The sampler on a scripted device whose clock advances by what the job says each iteration takes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "core/statistics.h"
#include "gpubench/error.h"
#include "gpubench/telemetry.h"
#include "measure/batch_plan.h"
#include "measure/sampler.h"
#include "tests/unit/fake_device.h"

namespace gpubench {
namespace {

SamplingPolicy quick_policy() {
  SamplingPolicy policy;
  policy.warmup_s = 0.5;
  policy.min_time_s = 0.2;
  policy.max_time_s = 2;
  policy.max_noise = 0.01;
  policy.min_samples = 10;
  policy.max_samples = 2000;
  return policy;
}

Measurement run(Clock& clock, Job& job, const SamplingPolicy& policy, bool graphs = true,
                double hang_s = 60) {
  FakeDevice device(clock, graphs);
  FakeStream stream;
  return measure(device, stream, job, policy, std::stop_token{}, nullptr, hang_s);
}

TEST(Sampler, LongIterationsAreSampledOneByOne) {
  Clock clock;
  FakeJob job(clock, [](std::size_t) { return 5e-3; });
  const Measurement measurement = run(clock, job, quick_policy());
  EXPECT_EQ(measurement.kind, "stream");
  EXPECT_EQ(measurement.batch, 1);
  EXPECT_EQ(measurement.stop, "noise");
  EXPECT_NEAR(median(measurement.samples_s), 5e-3, 1e-9);
  EXPECT_GE(measurement.samples_s.size(), 40U);  // min_time_s of device time
}

TEST(Sampler, ShortIterationsAreBatchedToAMillisecond) {
  Clock clock;
  FakeJob job(clock, [](std::size_t) { return 210e-6; });
  const Measurement measurement = run(clock, job, quick_policy());
  EXPECT_EQ(measurement.kind, "stream");
  EXPECT_EQ(measurement.batch, 5);
  EXPECT_NEAR(median(measurement.samples_s), 210e-6, 1e-9);
}

TEST(Sampler, VeryShortIterationsBecomeAGraphOfWholeRotations) {
  Clock clock;
  FakeJob job(
      clock, [](std::size_t) { return 2e-6; }, 7);
  const Measurement measurement = run(clock, job, quick_policy());
  EXPECT_EQ(measurement.kind, "graph");
  EXPECT_GT(clock.graph_launches, 0U);
  EXPECT_EQ(measurement.batch % 7, 0);
  EXPECT_GE(double(measurement.batch) * 2e-6, 1e-3);
  EXPECT_NEAR(median(measurement.samples_s), 2e-6, 1e-9);
}

TEST(Sampler, FallsBackToTheStreamWhereThereAreNoGraphs) {
  Clock clock;
  FakeJob job(clock, [](std::size_t) { return 2e-6; });
  const Measurement measurement = run(clock, job, quick_policy(), false);
  EXPECT_EQ(measurement.kind, "stream");
  EXPECT_NEAR(median(measurement.samples_s), 2e-6, 1e-9);
}

TEST(Sampler, CallsThatAreMeasuredAsTheyAreMadeNeverBecomeAGraph) {
  Clock clock;
  FakeJob job(clock, [](std::size_t) { return 2e-6; });
  job.timed_as = Timing::stream;
  const Measurement measurement = run(clock, job, quick_policy());
  EXPECT_EQ(measurement.kind, "stream");
  EXPECT_EQ(clock.graph_launches, 0U);
  EXPECT_GE(double(measurement.batch) * 2e-6, 1e-3);
  EXPECT_NEAR(median(measurement.samples_s), 2e-6, 1e-9);
  EXPECT_FALSE(measurement.launch_bound) << "every event is done at once here";
}

/// A stream that is busy until a moment of the host's clock.
class BusyStream : public FakeStream {
 public:
  bool idle() override {
    looked_at_ += 1;
    return !stuck && steady_seconds() >= until_s;
  }
  double until_s = 0;
  bool stuck = false;
  std::size_t looked_at_ = 0;
};

/// Each call takes the host `call_s`, and what it starts another `work_s` of the device.
class CallingJob : public Job {
 public:
  CallingJob(Timing timing, BusyStream& stream, double call_s, double work_s)
      : timing_(timing), stream_(stream), call_s_(call_s), work_s_(work_s) {}
  void enqueue(Stream&, std::size_t) override {
    if (stream_.idle()) calls_while_idle += 1;
    const double end = steady_seconds() + call_s_;
    while (steady_seconds() < end) {
    }
    stream_.until_s = std::max(stream_.until_s, steady_seconds()) + work_s_;
    ++calls;
  }
  Timing timing() const override { return timing_; }
  Work work() const override { return {}; }
  JobInfo info() const override { return {.impl = "fake"}; }
  Check verify(Stream&) override { return {}; }
  std::size_t calls = 0, calls_while_idle = 0;

 private:
  Timing timing_;
  BusyStream& stream_;
  double call_s_, work_s_;
};

Measurement run_calls(CallingJob& job, BusyStream& stream, double hang_s = 60) {
  Clock clock;
  FakeDevice device(clock, true);
  SamplingPolicy policy = quick_policy();
  policy.warmup_s = 0.01;
  policy.min_time_s = 0.02;
  policy.max_time_s = 0.2;
  return measure(device, stream, job, policy, std::stop_token{}, nullptr, hang_s);
}

TEST(Sampler, LatencyLastsUntilTheHostSeesTheWorkDone) {
  BusyStream stream;
  CallingJob job(Timing::latency, stream, 10e-6, 300e-6);
  const Measurement measurement = run_calls(job, stream);
  EXPECT_EQ(measurement.kind, "latency");
  EXPECT_EQ(measurement.batch, 1);
  for (const double sample : measurement.samples_s) EXPECT_GE(sample, 310e-6);
  EXPECT_EQ(job.calls_while_idle, job.calls) << "each starts with nothing under way";
}

TEST(Sampler, EnqueueIsTheCallsAloneInBatchesOnAnIdleStream) {
  BusyStream stream;
  CallingJob job(Timing::enqueue, stream, 10e-6, 1e-3);
  const Measurement measurement = run_calls(job, stream);
  EXPECT_EQ(measurement.kind, "enqueue");
  EXPECT_GE(measurement.batch, 1);
  EXPECT_LE(measurement.batch, 64);
  const double least =
      *std::min_element(measurement.samples_s.begin(), measurement.samples_s.end());
  EXPECT_GE(least, 10e-6);
  EXPECT_LT(least, 1e-3) << "the work that the calls start is not in it";
  EXPECT_FALSE(measurement.launch_bound);
}

TEST(Sampler, AHangIsToldByTheHostsClockToo) {
  BusyStream stream;
  CallingJob job(Timing::latency, stream, 0, 0);
  stream.stuck = true;
  try {
    run_calls(job, stream, 0.05);
    FAIL() << "waited for a hung kernel";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.code(), "E_HANG");
  }
}

TEST(Sampler, RotatesThroughEverySet) {
  Clock clock;
  FakeJob job(
      clock, [](std::size_t) { return 2e-3; }, 4);
  run(clock, job, quick_policy());
  ASSERT_EQ(job.seen().size(), 4U);
  for (const std::size_t uses : job.seen()) EXPECT_GE(uses, job.count() / 4 - 2);
}

TEST(Sampler, WarmUpEndsWhenFlatAndKeepsTheSlowStartOutOfTheSamples) {
  Clock clock;
  // The first 0.3 s run at half speed, as a card that has not reached its clocks does.
  FakeJob job(clock, [&clock](std::size_t) { return clock.now_s < 0.3 ? 4e-3 : 2e-3; });
  SamplingPolicy policy = quick_policy();
  policy.warmup_s = 5;
  const Measurement measurement = run(clock, job, policy);
  EXPECT_GE(measurement.warmup_s, 0.45);
  EXPECT_LT(measurement.warmup_s, 2);
  for (const double sample : measurement.samples_s) EXPECT_NEAR(sample, 2e-3, 1e-9);
}

TEST(Sampler, UnusableTimesAreDroppedAndCounted) {
  Clock clock;
  int calls = 0;
  clock.distort = [&calls](double elapsed) { return ++calls % 5 == 0 ? -1.0 : elapsed; };
  FakeJob job(clock, [](std::size_t) { return 3e-3; });
  const Measurement measurement = run(clock, job, quick_policy());
  EXPECT_GT(measurement.dropped, 0);
  for (const double sample : measurement.samples_s) EXPECT_GT(sample, 0);
}

TEST(Sampler, ATimerThatNeverWorksIsAnErrorNotALoop) {
  for (const double value : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    Clock clock;
    clock.distort = [value](double) { return value; };
    FakeJob job(clock, [](std::size_t) { return 3e-3; });
    try {
      run(clock, job, quick_policy());
      FAIL() << "accepted a timer that returns " << value;
    } catch (const DeviceError& error) {
      EXPECT_EQ(error.code(), "E_BAD_TIMER");
    }
  }
}

TEST(Sampler, AHangIsToldAndTheDeviceGivenUp) {
  Clock clock;
  FakeJob job(clock, [](std::size_t) { return 3e-3; });
  clock.stuck = true;
  try {
    run(clock, job, quick_policy(), true, 0.05);
    FAIL() << "waited for a hung kernel";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.code(), "E_HANG");
    EXPECT_TRUE(error.sticky());
  }
}

TEST(Sampler, AStopRequestEndsSampling) {
  Clock clock;
  FakeDevice device(clock, true);
  FakeStream stream;
  std::stop_source source;
  FakeJob job(clock, [&source](std::size_t iteration) {
    if (iteration > 50) source.request_stop();
    return 3e-3;
  });
  const Measurement measurement =
      measure(device, stream, job, quick_policy(), source.get_token(), nullptr);
  EXPECT_EQ(measurement.stop, "interrupted");
}

TEST(Sampler, BurstSamplesComeAfterARestAndAnUntimedIteration) {
  Clock clock;
  double rested_at = -1;
  std::size_t after_rest = 0;
  FakeDevice device(clock, true);
  FakeStream stream;
  // The first iteration after the host slept is slow.
  FakeJob job(clock, [&](std::size_t) {
    const double now = steady_seconds();
    const bool rested = rested_at >= 0 && now - rested_at > 0.9 * kBurstRestS;
    rested_at = now;
    if (rested) ++after_rest;
    return rested ? 30e-3 : 3e-3;
  });
  SamplingPolicy policy = quick_policy();
  policy.min_samples = 5;
  const Measurement measurement =
      measure(device, stream, job, policy, std::stop_token{}, nullptr, 60, LoadMode::burst);
  EXPECT_EQ(measurement.warmup_s, 0);
  EXPECT_GE(measurement.samples_s.size(), 5U);
  EXPECT_GE(after_rest, measurement.samples_s.size());
  for (const double sample : measurement.samples_s) EXPECT_NEAR(sample, 3e-3, 1e-9);
}

TEST(Sampler, BoundariesEncloseTheSamples) {
  Clock clock;
  FakeDevice device(clock, true);
  FakeStream stream;
  FakeJob job(clock, [](std::size_t) { return 3e-3; });
  std::vector<std::pair<bool, double>> seen;
  const Measurement measurement =
      measure(device, stream, job, quick_policy(), std::stop_token{}, nullptr, 60,
              LoadMode::sustained, [&](bool begins) { seen.emplace_back(begins, clock.now_s); });
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_TRUE(seen[0].first);
  EXPECT_FALSE(seen[1].first);
  EXPECT_GE(seen[0].second, measurement.warmup_s);
  EXPECT_GE(seen[1].second - seen[0].second, 3e-3 * double(measurement.samples_s.size() - 10));
}

TEST(TimerResolution, IsTheSmallestStepSeen) {
  Clock clock;
  FakeDevice device(clock, true);
  FakeStream stream;
  clock.record_s = 1.7e-6;
  clock.tick_s = 0.5e-6;
  EXPECT_NEAR(timer_resolution(device, stream), 0.5e-6, 1e-9);
  clock.record_s = 20e-6;
  clock.tick_s = 1e-3;
  EXPECT_NEAR(timer_resolution(device, stream), 1e-3, 1e-9);
}

TEST(TimerResolution, CoarseTimerIsWaitedFor) {
  Clock clock;
  FakeDevice device(clock, true);
  FakeStream stream;
  clock.record_s = 1e-6;
  clock.tick_s = 1e-3;
  EXPECT_NEAR(timer_resolution(device, stream), 1e-3, 1e-9);
  clock.record_s = 0;
  EXPECT_EQ(timer_resolution(device, stream), 0);
}

TEST(Sampler, CoarseTimerMakesLongerSamples) {
  Clock clock;
  clock.record_s = 1e-6;
  clock.tick_s = 100e-6;
  FakeJob job(clock, [](std::size_t) { return 130e-6; });
  const Measurement measurement = run(clock, job, quick_policy());
  EXPECT_NEAR(measurement.timer_resolution_s, 100e-6, 1e-9);
  EXPECT_GE(130e-6 * double(measurement.batch), 19e-3);
  EXPECT_NEAR(median(measurement.samples_s), 130e-6, 130e-6 * 0.006);
}

}  // namespace
}  // namespace gpubench
