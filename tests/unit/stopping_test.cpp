// SPDX-License-Identifier: Apache-2.0
#include "core/stopping.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>

namespace gpubench {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Outcome {
  std::string reason;
  double elapsed_s = 0;
  StoppingRule rule;
};

/// Samples of one millisecond (of sampling time) each, until the rule stops.
Outcome run(const SamplingPolicy& policy, const std::function<double(int)>& sample) {
  Outcome result{.reason = {}, .rule = StoppingRule(policy)};
  for (int i = 0; result.reason.empty() && i < 1000000; ++i) {
    result.elapsed_s += 1e-3;
    result.reason = result.rule.add(sample(i), result.elapsed_s);
  }
  return result;
}

std::function<double(int)> noisy(double relative, unsigned seed = 1) {
  return [random = std::mt19937(seed), normal = std::normal_distribution<double>(1, relative)](
             int) mutable { return 1e-3 * normal(random); };
}

TEST(StoppingRule, ConstantSamplesStopAtMinTime) {
  const Outcome result = run({.min_time_s = 0.2}, [](int) { return 1e-3; });
  EXPECT_EQ(result.reason, "noise");
  EXPECT_NEAR(result.elapsed_s, 0.2, 2e-3);
  EXPECT_EQ(result.rule.noise(), 0);
}

TEST(StoppingRule, WaitsForMinSamples) {
  StoppingRule rule({.min_time_s = 0.1, .min_samples = 30});
  for (int i = 1; i < 30; ++i) EXPECT_EQ(rule.add(1, i), i < 10 ? "" : "max_time");
  StoppingRule patient({.min_time_s = 0.1, .max_time_s = 1000, .min_samples = 30});
  for (int i = 1; i < 30; ++i) EXPECT_EQ(patient.add(1, i), "") << i;
  EXPECT_EQ(patient.add(1, 30), "noise");
}

TEST(StoppingRule, StopsWhenTheIntervalIsNarrow) {
  // 5 % noise to 0.5 %: about (1.96 x 1.25 x 10)^2 = 600 samples.
  const Outcome result = run({.min_time_s = 0.05, .max_noise = 0.005}, noisy(0.05));
  EXPECT_EQ(result.reason, "noise");
  EXPECT_LE(result.rule.noise(), 0.005);
  EXPECT_GT(result.elapsed_s, 0.2);
  EXPECT_LT(result.elapsed_s, 2.0);
}

TEST(StoppingRule, EndsAfterWholeMultiplesOfMinTime) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    const Outcome result =
        run({.min_time_s = 0.25, .max_time_s = 100, .max_noise = 0.003}, noisy(0.05, seed));
    ASSERT_EQ(result.reason, "noise");
    EXPECT_GT(result.elapsed_s, 0.4);
    const double multiples = result.elapsed_s / 0.25;
    EXPECT_NEAR(multiples, std::round(multiples), 0.01) << result.elapsed_s;
  }
}

TEST(StoppingRule, IndependentNoiseIsNoPlateau) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const Outcome result =
        run({.min_time_s = 0.05, .max_time_s = 1.5, .max_noise = 1e-6}, noisy(0.05, seed));
    EXPECT_EQ(result.reason, "max_time") << seed;
  }
}

TEST(StoppingRule, DriftEndsInAPlateau) {
  auto noise = noisy(0.002);
  const Outcome result = run({.min_time_s = 0.2, .max_time_s = 100},
                             [&](int i) { return noise(i) * (1 + 0.0002 * i); });
  EXPECT_EQ(result.reason, "plateau");
  EXPECT_LT(result.elapsed_s, 10);
  EXPECT_GT(result.rule.noise(), 0.005);
}

TEST(StoppingRule, EndsAtMaxTimeWhateverTheSamples) {
  StoppingRule rule({.min_time_s = 0.5, .max_time_s = 2});
  EXPECT_EQ(rule.add(1.0, 1.0), "");
  EXPECT_EQ(rule.add(1.0, 2.0), "max_time");
  EXPECT_EQ(rule.samples().size(), 2u);
  EXPECT_TRUE(std::isinf(rule.noise()));
}

TEST(StoppingRule, EndsAtMaxSamples) {
  const Outcome result = run({.min_time_s = 5, .max_samples = 100}, noisy(0.05));
  EXPECT_EQ(result.reason, "max_samples");
  EXPECT_EQ(result.rule.samples().size(), 100u);
}

TEST(StoppingRule, UnusableSamplesAreDropped) {
  const double bad[] = {0, -1, kNan, std::numeric_limits<double>::infinity()};
  auto noise = noisy(0.001);
  const Outcome result =
      run({.min_time_s = 0.1}, [&](int i) { return i % 3 == 0 ? bad[i / 3 % 4] : noise(i); });
  EXPECT_EQ(result.reason, "noise");
  EXPECT_GT(result.rule.dropped(), 10);
  for (const double sample : result.rule.samples())
    EXPECT_TRUE(std::isfinite(sample) && sample > 0);
}

TEST(StoppingRule, BadTimerIsSeen) {
  const Outcome result = run({}, [](int) { return 0.0; });
  EXPECT_EQ(result.reason, "bad_timer");
  EXPECT_EQ(result.rule.dropped(), 100);
  EXPECT_TRUE(result.rule.samples().empty());
  StoppingRule slow({.max_time_s = 2});
  EXPECT_EQ(slow.add(kNan, 1), "");
  EXPECT_EQ(slow.add(kNan, 2), "bad_timer");  // the time is over and nothing was measured
}

TEST(StoppingRule, QuantisedSamplesStop) {
  // The interval can't become narrower than the timer's step: a plateau where the step is above the
  // target.
  auto noise = noisy(0.02);
  const auto quantised = [&](double step) {
    return run({.min_time_s = 0.1},
               [&, step](int i) { return std::round(noise(i) / step) * step; });
  };
  EXPECT_EQ(quantised(1e-6).reason, "noise");
  const Outcome coarse = quantised(2e-5);
  EXPECT_TRUE(coarse.reason == "noise" || coarse.reason == "plateau") << coarse.reason;
  EXPECT_LT(coarse.elapsed_s, 6);
}

}  // namespace
}  // namespace gpubench
