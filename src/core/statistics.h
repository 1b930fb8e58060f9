// SPDX-License-Identifier: Apache-2.0
// Statistics of samples: pure functions. Samples are seconds in the order they were taken;
// neighbours are correlated (clocks drift), so intervals come from a moving-block bootstrap.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "gpubench/report.h"

namespace gpubench {

/// Middle value (mean of the two middle ones). Non-finite values are ignored; NaN when none is
/// left.
double median(std::span<const double> samples);

/// Linear interpolation between order statistics, `q` in [0, 1]; NaN for no samples.
double quantile(std::span<const double> samples, double q);

struct Interval {
  double low = 0, high = 0;
};

/// 95 % interval of the median by a moving-block bootstrap (block length about n^(1/3), at least
/// covering the lag at which autocorrelation has died). Deterministic for a seed. nullopt below 3
/// samples.
std::optional<Interval> median_ci95(std::span<const double> samples, std::uint64_t seed = 1);

/// Everything a report says of the samples. nullopt for no usable (finite, positive) sample.
std::optional<Stats> compute_stats(std::span<const double> samples, std::string_view stop);

struct Ratio {
  double ratio = 0;  ///< median(b) / median(a): above 1, a is faster
  std::optional<Interval> ci95;
};

/// Ratio of medians with its own bootstrap interval; nullopt when either side has no usable sample.
std::optional<Ratio> median_ratio(std::span<const double> a, std::span<const double> b);

}  // namespace gpubench
