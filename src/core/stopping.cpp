// SPDX-License-Identifier: Apache-2.0
#include "core/stopping.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "core/statistics.h"

namespace gpubench {
namespace {

constexpr std::int64_t kMostBadInARow = 100;
constexpr double kCheckGrowth = 1.2;  // each check looks at 20 % more samples than the one before
/// Independent samples halve the interval from a quarter of the time to now; less than a tenth is
/// stuck.
// A power-capped card's clock swings over a second or so: within the first swings the interval may
// stand still and shrink later.
constexpr double kPlateauAfterS = 5;
constexpr double kPlateauShare = 0.9;

/// Relative half-width of the interval of the median; infinity where there is none.
double relative_noise(const std::vector<double>& samples) {
  const auto interval = median_ci95(samples);
  const double noise = interval ? (interval->high - interval->low) / 2 / median(samples)
                                : std::numeric_limits<double>::infinity();
  return std::isfinite(noise) ? noise : std::numeric_limits<double>::infinity();
}

/// The noise at the last check at or before `time`; infinity where there was none: nothing can be
/// stuck yet.
double noise_at(const std::vector<double>& times, const std::vector<double>& noises, double time) {
  const auto after = std::upper_bound(times.begin(), times.end(), time);
  return after == times.begin() ? std::numeric_limits<double>::infinity()
                                : noises[static_cast<std::size_t>(after - times.begin()) - 1];
}

}  // namespace

StoppingRule::StoppingRule(const SamplingPolicy& policy)
    : policy_(policy),
      next_check_(std::max<std::int64_t>(policy.min_samples, 3)),
      next_end_s_(policy.min_time_s),
      noise_(std::numeric_limits<double>::infinity()) {}

double StoppingRule::whole_min_times(double seconds) const {
  const double least = policy_.min_time_s;
  return least > 0 ? std::ceil(seconds / least) * least : seconds;
}

std::string StoppingRule::add(double seconds, double elapsed_s) {
  const bool usable = std::isfinite(seconds) && seconds > 0;
  if (usable) {
    bad_in_a_row_ = 0;
    samples_.push_back(seconds);
  } else {
    ++dropped_;
    if (++bad_in_a_row_ >= kMostBadInARow) return "bad_timer";
  }
  const auto count = static_cast<std::int64_t>(samples_.size());
  const bool may_end = elapsed_s >= next_end_s_;
  const bool enough = count >= std::max<std::int64_t>(policy_.min_samples, 3);
  if (usable && enough && (count >= next_check_ || may_end)) {
    noise_ = relative_noise(samples_);
    check_times_.push_back(elapsed_s);
    noise_history_.push_back(noise_);
    next_check_ = std::max<std::int64_t>(
        count + 1, static_cast<std::int64_t>(std::ceil(static_cast<double>(count) * kCheckGrowth)));
    if (may_end) {
      next_end_s_ = whole_min_times(kCheckGrowth * elapsed_s);
      if (noise_ <= policy_.max_noise) return "noise";
      const double half = noise_at(check_times_, noise_history_, elapsed_s / 2);
      const double quarter = noise_at(check_times_, noise_history_, elapsed_s / 4);
      const bool flat = noise_ >= kPlateauShare * half && noise_ >= kPlateauShare * quarter;
      if (flat && elapsed_s >= std::min(kPlateauAfterS, policy_.max_time_s / 2)) return "plateau";
    }
  }
  if (elapsed_s >= policy_.max_time_s) return samples_.empty() ? "bad_timer" : "max_time";
  if (count >= policy_.max_samples) return "max_samples";
  return {};
}

}  // namespace gpubench
