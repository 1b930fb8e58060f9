// SPDX-License-Identifier: Apache-2.0
// Turns of several jobs on a scripted device.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

#include "gpubench/error.h"
#include "measure/paired.h"
#include "tests/unit/fake_device.h"

namespace gpubench {
namespace {

SamplingPolicy quick_policy() {
  SamplingPolicy policy;
  policy.warmup_s = 0.5;
  policy.min_time_s = 0.2;
  policy.max_time_s = 20;
  policy.max_noise = 0.01;
  return policy;
}

/// Jobs that take so many seconds at a time of the device's clock.
struct Bench {
  Clock clock;
  FakeDevice device{clock, /*graphs=*/true};
  FakeStream stream;
  std::vector<std::unique_ptr<FakeJob>> jobs;

  void add(const std::function<double(double)>& seconds) {
    jobs.push_back(std::make_unique<FakeJob>(
        clock, [this, seconds](std::size_t) { return seconds(clock.now_s); }));
  }
  PairedMeasurement run(const PowerBoundFn& power_bound = {}, const std::stop_token& stop = {}) {
    std::vector<Job*> all;
    for (const auto& job : jobs) all.push_back(job.get());
    return measure_paired(device, stream, all, quick_policy(), stop, nullptr, power_bound);
  }
};

TEST(Paired, RatioOfJobsOnADriftingDevice) {
  Bench bench;
  bench.add([](double now_s) { return 2e-3 * (1 + 0.01 * now_s); });
  bench.add([](double now_s) { return 2.5e-3 * (1 + 0.01 * now_s); });
  bench.add([](double now_s) { return 1e-3 * (1 + 0.01 * now_s); });
  const PairedMeasurement measured = bench.run();
  ASSERT_EQ(measured.ratios.size(), 2U);
  ASSERT_TRUE(measured.ratios[0] && measured.ratios[1]);
  EXPECT_NEAR(measured.ratios[0]->ratio, 1.25, 0.002);
  EXPECT_NEAR(measured.ratios[1]->ratio, 0.5, 0.001);
  ASSERT_EQ(measured.sides.size(), 3U);
  for (const PairedSide& side : measured.sides) {
    EXPECT_EQ(side.measurement.stop, "noise");
    EXPECT_EQ(side.measurement.block_s, 0.05);
    EXPECT_GE(side.turns.size(), 8U);
    EXPECT_FALSE(side.measurement.samples_s.empty());
  }
}

TEST(Paired, SamplesAreOfTheirOwnJobOnly) {
  Bench bench;
  bench.add([](double) { return 2e-3; });
  bench.add([](double) { return 7e-3; });
  const PairedMeasurement measured = bench.run();
  for (const double sample : measured.sides[0].measurement.samples_s)
    EXPECT_NEAR(sample, 2e-3, 1e-9);
  for (const double sample : measured.sides[1].measurement.samples_s)
    EXPECT_NEAR(sample, 7e-3, 1e-9);
}

TEST(Paired, BeginningOfATurnIsDropped) {
  // The first iteration after the other job takes ten times as long: a cold cache.
  Bench bench;
  int last = -1;
  for (int i = 0; i < 2; ++i) {
    bench.add([&last, i](double) {
      const bool cold = last != i;
      last = i;
      return cold ? 50e-3 : 5e-3;
    });
  }
  for (const PairedSide& side : bench.run().sides) {
    for (const double sample : side.measurement.samples_s) EXPECT_NEAR(sample, 5e-3, 1e-9);
  }
}

TEST(Paired, PowerBoundJobsGetLongTurns) {
  Bench bench;
  bench.add([](double) { return 2e-3; });
  bench.add([](double) { return 2e-3; });
  bool asked = false;
  const PairedMeasurement measured = bench.run([&](double begin_s, double end_s) {
    asked = true;
    return end_s >= begin_s;
  });
  EXPECT_TRUE(asked);
  const Measurement& first = measured.sides.front().measurement;
  EXPECT_EQ(first.block_s, 1.3);
  // All but the first 0.3 s are kept.
  const double kept =
      2e-3 * double(first.samples_s.size()) / double(measured.sides.front().turns.size());
  EXPECT_NEAR(kept, 1.0, 0.05);
  EXPECT_NEAR(measured.ratios.front()->ratio, 1, 1e-9);
}

TEST(Paired, SwingOfThePowerLimitCancels) {
  Bench bench;
  for (const double seconds : {2e-3, 2.02e-3}) {
    bench.add([seconds](double now_s) {
      const double turn = now_s - std::floor(now_s);
      return seconds * (turn < 0.3 ? 1.1 : 1.0);  // a period of 1 s, far from a sine
    });
  }
  const PairedMeasurement measured = bench.run([](double, double) { return true; });
  // What is queued when a turn ends is a part of it: some per cent of a period.
  EXPECT_NEAR(measured.ratios.front()->ratio, 1.01, 2e-3);
}

TEST(Paired, LongSamplesStillMakeTurns) {
  Bench bench;
  bench.add([](double) { return 0.3; });
  bench.add([](double) { return 0.6; });
  const PairedMeasurement measured = bench.run();
  EXPECT_NEAR(measured.ratios.front()->ratio, 2, 1e-9);
}

TEST(Paired, StopEndsIt) {
  Bench bench;
  bench.add([](double) { return 2e-3; });
  bench.add([](double) { return 2e-3; });
  std::stop_source source;
  source.request_stop();
  for (const PairedSide& side : bench.run({}, source.get_token()).sides) {
    EXPECT_EQ(side.measurement.stop, "interrupted");
  }
}

TEST(Paired, TimerThatStandsStillIsAnError) {
  Bench bench;
  bench.add([](double) { return 2e-3; });
  bench.add([](double) { return 2e-3; });
  bench.clock.distort = [](double) { return 0.0; };
  try {
    bench.run();
    FAIL() << "no error";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.code(), "E_BAD_TIMER");
  }
}

}  // namespace
}  // namespace gpubench
