// SPDX-License-Identifier: Apache-2.0
#include "core/paired.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace gpubench {
namespace {

/// Fewer turns would leave the interval to luck.
constexpr std::int64_t kLeastTurns = 8;

bool usable(double seconds) { return std::isfinite(seconds) && seconds > 0; }

SamplingPolicy policy_of_turns(SamplingPolicy policy, std::size_t sides) {
  policy.min_samples = kLeastTurns;
  policy.min_time_s *= static_cast<double>(sides);
  policy.max_time_s *= static_cast<double>(sides);
  return policy;
}

/// What says least of the result comes last.
std::size_t doubt(const std::string& reason) {
  constexpr std::array<const char*, 5> kReasons{"noise", "plateau", "max_samples", "max_time",
                                                "bad_timer"};
  return static_cast<std::size_t>(std::find(kReasons.begin(), kReasons.end(), reason) -
                                  kReasons.begin());
}

}  // namespace

std::vector<double> turn_ratios(std::span<const double> a, std::span<const double> b) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < b.size() && i + 1 < a.size(); ++i) {
    if (!usable(a[i]) || !usable(a[i + 1]) || !usable(b[i])) continue;
    ratios.push_back(b[i] / ((a[i] + a[i + 1]) / 2));
  }
  return ratios;
}

std::optional<Ratio> paired_ratio(std::span<const double> ratios) {
  const double middle = median(ratios);
  if (!usable(middle)) return std::nullopt;
  return Ratio{.ratio = middle, .ci95 = median_ci95(ratios)};
}

std::string paired_verdict(const Ratio& ratio) {
  if (!ratio.ci95) return "unclear";
  if (ratio.ci95->low > 1 + kSamePaired) return "faster";
  if (ratio.ci95->high < 1 - kSamePaired) return "slower";
  return "same";
}

PairedRule::PairedRule(const SamplingPolicy& policy, std::size_t sides)
    : rules_(sides - 1, StoppingRule(policy_of_turns(policy, sides))), reasons_(sides - 1) {}

std::string PairedRule::add(std::span<const double> ratios, double elapsed_s) {
  bool all = true;
  for (std::size_t i = 0; i < rules_.size() && i < ratios.size(); ++i) {
    const std::string reason = rules_[i].add(ratios[i], elapsed_s);
    if (!reason.empty()) reasons_[i] = reason;
    all = all && !reasons_[i].empty();
  }
  if (!all) return {};
  return *std::max_element(
      reasons_.begin(), reasons_.end(),
      [](const std::string& x, const std::string& y) { return doubt(x) < doubt(y); });
}

double PairedRule::noise() const {
  double widest = 0;
  for (const StoppingRule& rule : rules_) widest = std::max(widest, rule.noise());
  return widest;
}

}  // namespace gpubench
