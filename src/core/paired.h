// SPDX-License-Identifier: Apache-2.0
// Two sides sampled in turn, A B A B ... A: what their ratio is, and how surely. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/statistics.h"
#include "core/stopping.h"

namespace gpubench {

/// time(b) / time(a), turn by turn: each turn of B over the mean of the turns of A before and after
/// it, so that a drift that both sides share (heat, a clock that sinks) falls out. Needs one turn
/// of A more than of B; a turn that is not finite and positive leaves out the ratios it enters.
std::vector<double> turn_ratios(std::span<const double> a, std::span<const double> b);

/// Median of the ratios with its 95 % interval; nullopt where there is none.
std::optional<Ratio> paired_ratio(std::span<const double> ratios);

/// "faster" or "slower" (A, than B) where the interval leaves out 1 by more than kSamePaired, else
/// "same"; "unclear" without an interval.
std::string paired_verdict(const Ratio& ratio);

/// Sides of one program on one card, sampled in turn, are told apart no better: placement of
/// buffers alone moves a time by some tenths of a percent.
inline constexpr double kSamePaired = 0.003;

/// When to stop taking turns: as StoppingRule, on the ratios of every pair and the time of all
/// sides together.
class PairedRule {
 public:
  /// `sides` of at least two; the first one is A of every pair.
  PairedRule(const SamplingPolicy& policy, std::size_t sides);

  /// Takes the newest ratio of each pair. Returns why to stop ("noise", "plateau", "max_time",
  /// "max_samples", "bad_timer": the one that says least of all pairs), or an empty string.
  std::string add(std::span<const double> ratios, double elapsed_s);

  /// Relative half-width of the widest interval.
  double noise() const;

 private:
  std::vector<StoppingRule> rules_;  // one for each pair
  std::vector<std::string> reasons_;
};

}  // namespace gpubench
