// SPDX-License-Identifier: Apache-2.0
// Synthetic samples with known answers, and how often the interval holds the true median.
#include "core/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace gpubench {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
using Samples = std::vector<double>;

Samples normal_samples(std::size_t count, unsigned seed, double correlation = 0) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  Samples samples;
  double state = normal(random);
  for (std::size_t i = 0; i < count; ++i) {
    samples.push_back(1 + 0.01 * state);
    state = correlation * state + std::sqrt(1 - correlation * correlation) * normal(random);
  }
  return samples;
}

double half_width(const Samples& samples) {
  const auto interval = median_ci95(samples);
  return interval ? (interval->high - interval->low) / 2 : kNan;
}

TEST(Median, MiddleValue) {
  EXPECT_TRUE(std::isnan(median(Samples{})));
  EXPECT_TRUE(std::isnan(median(Samples{kNan, kInfinity})));
  EXPECT_EQ(median(Samples{3}), 3);
  EXPECT_EQ(median(Samples{4, 2}), 3);
  EXPECT_EQ(median(Samples{9, 1, 5}), 5);
  EXPECT_EQ(median(Samples{kNan, 9, 1, -kInfinity, 5}), 5);
  EXPECT_EQ(median(Samples{1, 1, 1, 1000}), 1);
}

TEST(Quantile, Interpolates) {
  const Samples samples{4, 1, 3, 2, 5};
  EXPECT_EQ(quantile(samples, 0), 1);
  EXPECT_EQ(quantile(samples, 1), 5);
  EXPECT_EQ(quantile(samples, 0.5), 3);
  EXPECT_DOUBLE_EQ(quantile(samples, 0.05), 1.2);
  EXPECT_TRUE(std::isnan(quantile(Samples{}, 0.5)));
  EXPECT_TRUE(std::isnan(quantile(samples, 1.5)));
  EXPECT_TRUE(std::isnan(quantile(samples, kNan)));
}

TEST(MedianInterval, NeedsThreeSamples) {
  EXPECT_FALSE(median_ci95(Samples{}).has_value());
  EXPECT_FALSE(median_ci95(Samples{1}).has_value());
  EXPECT_FALSE(median_ci95(Samples{1, 2}).has_value());
  EXPECT_FALSE(median_ci95(Samples{1, 2, kNan}).has_value());
  EXPECT_TRUE(median_ci95(Samples{1, 2, 3}).has_value());
}

TEST(MedianInterval, ConstantSamplesHaveNoWidth) {
  const auto interval = median_ci95(Samples(50, 2.5));
  ASSERT_TRUE(interval.has_value());
  EXPECT_EQ(interval->low, 2.5);
  EXPECT_EQ(interval->high, 2.5);
}

TEST(MedianInterval, IsDeterministic) {
  const Samples samples = normal_samples(500, 1);
  EXPECT_EQ(median_ci95(samples, 3)->low, median_ci95(samples, 3)->low);
  EXPECT_EQ(median_ci95(samples, 3)->high, median_ci95(samples, 3)->high);
}

TEST(MedianInterval, CoversTheTrueMedian) {
  const auto coverage = [](std::size_t count, double correlation) {
    int covered = 0;
    for (unsigned seed = 0; seed < 300; ++seed) {
      const auto interval = median_ci95(normal_samples(count, 1000 + seed, correlation));
      covered += interval->low <= 1 && 1 <= interval->high;
    }
    return covered / 300.0;
  };
  EXPECT_GE(coverage(200, 0), 0.90);
  EXPECT_LE(coverage(200, 0), 0.995);
  EXPECT_GE(coverage(400, 0.8),
            0.86);  // an interval for independent samples would cover about half
}

TEST(MedianInterval, WidthIsThatOfTheory) {
  // Of n normal samples the median spreads by 1.2533 sigma / sqrt(n).
  const double expected = 1.96 * 1.2533 * 0.01 / std::sqrt(2000.0);
  double sum = 0;
  for (unsigned seed = 0; seed < 20; ++seed) sum += half_width(normal_samples(2000, seed));
  EXPECT_NEAR(sum / 20, expected, 0.2 * expected);
}

TEST(MedianInterval, WidensWithCorrelationAndDrift) {
  const double independent = half_width(normal_samples(1000, 5));
  EXPECT_GT(half_width(normal_samples(1000, 5, 0.9)), 2 * independent);
  Samples drifting = normal_samples(1000, 5);
  for (std::size_t i = 0; i < drifting.size(); ++i)
    drifting[i] += 0.1 * static_cast<double>(i) / 1000;
  EXPECT_GT(half_width(drifting), 5 * independent);
}

TEST(MedianInterval, IgnoresOutliers) {
  Samples samples = normal_samples(1000, 6);
  const double before = half_width(samples);
  for (std::size_t i = 0; i < samples.size(); i += 50) samples[i] *= 100;
  EXPECT_LT(half_width(samples), 1.5 * before);
}

TEST(MedianInterval, QuantisedSamples) {
  Samples samples = normal_samples(1000, 7);
  for (double& sample : samples) sample = std::round(sample * 100) / 100;
  const auto interval = median_ci95(samples);
  EXPECT_LE(interval->low, 1);
  EXPECT_GE(interval->high, 1);
  EXPECT_LE(interval->high - interval->low, 0.02);
}

TEST(MedianInterval, LongSeriesAreReduced) {
  const Samples samples = normal_samples(100000, 8);
  const double expected = 1.96 * 1.2533 * 0.01 / std::sqrt(100000.0);
  const auto interval = median_ci95(samples);
  EXPECT_NEAR((interval->high - interval->low) / 2, expected, 0.6 * expected);
  EXPECT_NEAR((interval->high + interval->low) / 2, median(samples), expected);
}

TEST(Stats, NothingUsable) {
  EXPECT_FALSE(compute_stats(Samples{}, "noise").has_value());
  EXPECT_FALSE(compute_stats(Samples{0, -1, kNan, kInfinity}, "noise").has_value());
}

TEST(Stats, OneAndTwoSamples) {
  const auto one = compute_stats(Samples{2}, "max_time");
  ASSERT_TRUE(one.has_value());
  EXPECT_EQ(one->n, 1);
  EXPECT_EQ(one->median, 2);
  EXPECT_EQ(one->mean, 2);
  EXPECT_EQ(one->stop, "max_time");
  EXPECT_FALSE(one->stdev.has_value());
  EXPECT_FALSE(one->ci95_low.has_value());
  const auto two = compute_stats(Samples{1, 3}, "noise");
  EXPECT_EQ(two->median, 2);
  EXPECT_DOUBLE_EQ(*two->stdev, std::sqrt(2.0));
  EXPECT_FALSE(two->ci95_high.has_value());
}

TEST(Stats, UnusableSamplesEnterNothing) {
  const auto stats = compute_stats(Samples{kNan, 1, 0, 2, -5, 3, kInfinity}, "noise");
  EXPECT_EQ(stats->n, 3);
  EXPECT_EQ(stats->median, 2);
  EXPECT_EQ(stats->mean, 2);
  EXPECT_EQ(*stats->stdev, 1);
  EXPECT_DOUBLE_EQ(stats->p05, 1.1);
  EXPECT_DOUBLE_EQ(stats->p95, 2.9);
  EXPECT_LE(*stats->ci95_low, 2);
  EXPECT_GE(*stats->ci95_high, 2);
}

TEST(RatioOfMedians, AboveOneMeansAIsFaster) {
  const Samples fast = normal_samples(400, 9);
  Samples slow = normal_samples(400, 10);
  for (double& sample : slow) sample *= 1.5;
  const auto ratio = median_ratio(fast, slow);
  ASSERT_TRUE(ratio.has_value() && ratio->ci95.has_value());
  EXPECT_NEAR(ratio->ratio, 1.5, 0.01);
  EXPECT_LT(ratio->ci95->low, ratio->ratio);
  EXPECT_GT(ratio->ci95->high, ratio->ratio);
  EXPECT_LT(ratio->ci95->high - ratio->ci95->low, 0.02);
  EXPECT_FALSE(median_ratio(fast, Samples{}).has_value());
  EXPECT_FALSE(median_ratio(Samples{0, kNan}, slow).has_value());
  const auto single = median_ratio(Samples{2}, Samples{3});
  EXPECT_EQ(single->ratio, 1.5);
  EXPECT_FALSE(single->ci95.has_value());
}

TEST(RatioOfMedians, IntervalHoldsOneForEqualSides) {
  int covered = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    const auto ratio =
        median_ratio(normal_samples(200, 2 * seed), normal_samples(200, 2 * seed + 1));
    covered += ratio->ci95->low <= 1 && 1 <= ratio->ci95->high;
  }
  EXPECT_GE(covered, 88);
}

}  // namespace
}  // namespace gpubench
