// SPDX-License-Identifier: Apache-2.0
#include "core/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

namespace gpubench {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// More samples than this are first reduced to medians of 3, 5, ... neighbours, so that one
/// interval takes milliseconds. The median of such medians is still the median.
constexpr std::size_t kMostPoints = 20000;

std::vector<double> finite(std::span<const double> samples) {
  std::vector<double> kept;
  kept.reserve(samples.size());
  for (const double sample : samples) {
    if (std::isfinite(sample)) kept.push_back(sample);
  }
  return kept;
}

std::vector<double> usable(std::span<const double> samples) {
  std::vector<double> kept = finite(samples);
  std::erase_if(kept, [](double sample) { return sample <= 0; });
  return kept;
}

double quantile_of_sorted(const std::vector<double>& sorted, double q) {
  if (sorted.empty() || !(q >= 0 && q <= 1)) return kNan;
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double share = position - static_cast<double>(below);
  return sorted[below] + share * (sorted[above] - sorted[below]);
}

/// Vigna's splitmix64: small, fast, and the same everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  /// Uniform in [0, bound), bound below 2^32.
  std::size_t below(std::size_t bound) {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return static_cast<std::size_t>(((z >> 32) * bound) >> 32);
  }

 private:
  std::uint64_t state_;
};

std::vector<double> reduced(std::vector<double> samples) {
  if (samples.size() <= kMostPoints) return samples;
  std::size_t group = (samples.size() + kMostPoints - 1) / kMostPoints;
  group += 1 - group % 2;  // odd: the middle is a sample
  std::vector<double> medians;
  medians.reserve(samples.size() / group + 1);
  for (std::size_t begin = 0; begin < samples.size(); begin += group) {
    const std::size_t count = std::min(group, samples.size() - begin);
    medians.push_back(median(std::span(samples).subspan(begin, count)));
  }
  return medians;
}

/// Samples per block of the bootstrap. Correlation is read off the signs around the median: that is
/// what the median's spread depends on, and outliers can't hide it. Lags grow geometrically to stay
/// cheap.
std::size_t block_length(const std::vector<double>& samples) {
  const std::size_t n = samples.size();
  const auto least = static_cast<std::size_t>(std::ceil(std::cbrt(static_cast<double>(n))));
  const std::size_t most = std::max<std::size_t>(1, n / 4);
  const double middle = median(samples);
  std::vector<int> signs(n);
  std::transform(samples.begin(), samples.end(), signs.begin(),
                 [&](double sample) { return (sample > middle) - (sample < middle); });
  const double variance = std::inner_product(signs.begin(), signs.end(), signs.begin(), 0.0);
  std::size_t lag = 1;
  const double noise = 2 / std::sqrt(static_cast<double>(n));
  while (lag < most && variance > 0) {
    const double sum = std::inner_product(signs.begin() + static_cast<std::ptrdiff_t>(lag),
                                          signs.end(), signs.begin(), 0.0);
    if (sum / variance < noise) break;
    lag += std::max<std::size_t>(1, lag / 3);
  }
  return std::clamp(std::max(least, 2 * lag), std::size_t{1}, most);
}

/// Medians of resamples made of blocks of neighbours. The series is closed to a ring, so that its
/// ends are drawn as often as its middle. Each resample is a weight per sample: no copying, no
/// sorting.
std::vector<double> bootstrap_medians(const std::vector<double>& samples, std::uint64_t seed) {
  const std::size_t n = samples.size();
  const std::size_t length = block_length(samples);
  const std::size_t blocks = (n + length - 1) / length;
  const std::size_t resamples = n <= kMostPoints / 4 ? 400 : 200;
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return samples[a] < samples[b]; });

  Random random(seed);
  std::vector<std::int32_t> steps(n + 1), weights(n);
  const auto total = static_cast<std::int64_t>(blocks * length);
  std::vector<double> medians(resamples);
  for (double& result : medians) {
    std::fill(steps.begin(), steps.end(), 0);
    for (std::size_t block = 0; block < blocks; ++block) {
      const std::size_t begin = random.below(n);
      const std::size_t end = begin + length;  // length <= n: wraps at most once
      ++steps[begin];
      --steps[std::min(end, n)];
      if (end > n) {
        ++steps[0];
        --steps[end - n];
      }
    }
    std::partial_sum(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(n),
                     weights.begin());
    std::int64_t sum = 0;
    std::size_t rank = 0;
    while (2 * (sum + weights[order[rank]]) < total) sum += weights[order[rank++]];
    result = samples[order[rank]];
    if (2 * (sum + weights[order[rank]]) == total) {  // between two: their mean
      while (weights[order[++rank]] == 0) continue;
      result = (result + samples[order[rank]]) / 2;
    }
  }
  return medians;
}

Interval middle_95(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {quantile_of_sorted(values, 0.025), quantile_of_sorted(values, 0.975)};
}

constexpr std::size_t kFewestForInterval = 3;

}  // namespace

double median(std::span<const double> samples) {
  std::vector<double> kept = finite(samples);
  if (kept.empty()) return kNan;
  const auto middle = kept.begin() + static_cast<std::ptrdiff_t>(kept.size() / 2);
  std::nth_element(kept.begin(), middle, kept.end());
  if (kept.size() % 2 == 1) return *middle;
  return (*std::max_element(kept.begin(), middle) + *middle) / 2;
}

double quantile(std::span<const double> samples, double q) {
  std::vector<double> sorted = finite(samples);
  std::sort(sorted.begin(), sorted.end());
  return quantile_of_sorted(sorted, q);
}

std::optional<Interval> median_ci95(std::span<const double> samples, std::uint64_t seed) {
  const std::vector<double> kept = reduced(finite(samples));
  if (kept.size() < kFewestForInterval) return std::nullopt;
  return middle_95(bootstrap_medians(kept, seed));
}

std::optional<Stats> compute_stats(std::span<const double> samples, std::string_view stop) {
  std::vector<double> kept = usable(samples);
  if (kept.empty()) return std::nullopt;
  Stats stats;
  stats.n = static_cast<std::int64_t>(kept.size());
  stats.stop = stop;
  if (const auto interval = median_ci95(kept)) {
    stats.ci95_low = interval->low;
    stats.ci95_high = interval->high;
  }
  const auto count = static_cast<double>(kept.size());
  stats.mean = std::accumulate(kept.begin(), kept.end(), 0.0) / count;
  if (kept.size() >= 2) {
    double squares = 0;
    for (const double sample : kept) squares += (sample - stats.mean) * (sample - stats.mean);
    stats.stdev = std::sqrt(squares / (count - 1));
  }
  std::sort(kept.begin(), kept.end());
  stats.median = quantile_of_sorted(kept, 0.5);
  stats.p05 = quantile_of_sorted(kept, 0.05);
  stats.p95 = quantile_of_sorted(kept, 0.95);
  return stats;
}

std::optional<Ratio> median_ratio(std::span<const double> a, std::span<const double> b) {
  const std::vector<double> below = usable(a), above = usable(b);
  if (below.empty() || above.empty()) return std::nullopt;
  Ratio ratio{.ratio = median(above) / median(below), .ci95 = std::nullopt};
  const std::vector<double> below_points = reduced(below), above_points = reduced(above);
  if (std::min(below_points.size(), above_points.size()) < kFewestForInterval) return ratio;
  // Different seeds: the two sides vary independently.
  const std::vector<double> below_medians = bootstrap_medians(below_points, 1);
  std::vector<double> ratios = bootstrap_medians(above_points, 2);
  ratios.resize(std::min(ratios.size(), below_medians.size()));
  for (std::size_t i = 0; i < ratios.size(); ++i) ratios[i] /= below_medians[i];
  ratio.ci95 = middle_95(std::move(ratios));
  return ratio;
}

}  // namespace gpubench
