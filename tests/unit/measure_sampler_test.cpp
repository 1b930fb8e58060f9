// SPDX-License-Identifier: Apache-2.0
// The sampler on a scripted device whose clock advances by what the job says each iteration takes.
#include <gtest/gtest.h>

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
