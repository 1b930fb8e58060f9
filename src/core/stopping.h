// SPDX-License-Identifier: Apache-2.0
// When to stop sampling: a pure state machine over samples, tested with synthetic ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gpubench {

/// How to sample. Times in seconds.
struct SamplingPolicy {
  double warmup_s =
      3.0;  ///< most load before sampling; ends earlier once time per iteration is flat
  double min_time_s = 0.5;   ///< least sampling time; it ends after whole multiples of this
  double max_time_s = 10.0;  ///< most sampling time of a case
  double max_noise = 0.005;  ///< target: half-width of the 95 % interval of the median / the median
  std::int64_t min_samples = 30;
  std::int64_t max_samples = 100000;
  double sample_s = 1e-3;  ///< least duration of a sample; shorter iterations are batched
};

class StoppingRule {
 public:
  explicit StoppingRule(const SamplingPolicy& policy);

  /// Takes the next sample (seconds per iteration) and the seconds sampled so far. Returns the
  /// reason to stop, or an empty string to go on:
  ///  "noise"       the interval is within max_noise (after min_samples and min_time_s); told after
  ///  whole multiples of min_time_s only: the clock of a card at its power limit swings with a
  ///  period, and a part of one would count twice
  ///  "plateau"     the interval no longer shrinks although time passes (5 s, or half of
  ///  max_time_s) "max_time", "max_samples" "bad_timer"   100 unusable samples (zero, negative, not
  ///  finite) in a row
  /// Unusable samples are counted in dropped() and enter nothing else.
  std::string add(double seconds, double elapsed_s);

  const std::vector<double>& samples() const { return samples_; }
  std::int64_t dropped() const { return dropped_; }
  /// Relative half-width at the last check; infinity before the first.
  double noise() const { return noise_; }

 private:
  double whole_min_times(double seconds) const;

  SamplingPolicy policy_;
  std::vector<double> samples_;
  std::vector<double> noise_history_;  // relative half-width at each check
  std::vector<double> check_times_;    // elapsed_s at each check
  std::int64_t dropped_ = 0;
  std::int64_t bad_in_a_row_ = 0;
  std::int64_t next_check_ = 0;
  double next_end_s_ = 0;
  double noise_;
};

}  // namespace gpubench
