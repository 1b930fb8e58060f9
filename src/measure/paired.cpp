// SPDX-License-Identifier: Apache-2.0
#include "measure/paired.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <memory>
#include <numeric>
#include <string>

#include "core/paired.h"
#include "gpubench/error.h"
#include "gpubench/telemetry.h"
#include "measure/batch_plan.h"
#include "measure/sample_stream.h"

namespace gpubench {
namespace {

/// How long one side runs before the next, and what a turn counts as.
struct TurnLength {
  double seconds, dropped_s;
  bool mean;
};
constexpr TurnLength kShortTurn{0.05, 0.01, false};
/// A card at its power limit swings: the control's period is 0.97 s on an H200, its amplitude some
/// percent of the clock. The mean over one period does not depend on where it began; a median does.
constexpr TurnLength kLongTurn{1.3, 0.3, true};
/// A turn is of this many samples at least, however long they are.
constexpr std::size_t kLeastSamples = 3;

/// Warm-up is over when every side's turns agree this often in a row.
constexpr std::size_t kFlatTurns = 8;
constexpr double kFlatWithin = 0.005;

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / double(values.size());
}

/// One job's chain of samples and what its turns took.
class Side {
 public:
  Side(Device& device, Stream& stream, Job& job, const SamplingPolicy& policy, double resolution_s,
       ClockProbe* probe, double hang_s)
      : stream_(stream), probe_(probe) {
    result.measurement.timer_resolution_s = resolution_s;
    if (job.timing() != Timing::queued) {
      throw Unsupported("E_UNSUPPORTED_PAIR",
                        "times of the host's calls are not sampled in turn: leave out --pair");
    }
    BatchPlan plan = plan_batch(device, stream, job, policy, resolution_s);
    describe(device, plan, result.measurement);
    samples_ = std::make_unique<SampleStream>(device, stream, job, std::move(plan), hang_s);
  }

  /// What the turn counts as, seconds per iteration; its samples are kept if `keep`. NaN where a
  /// stop was requested or no sample was usable.
  double take_turn(const TurnLength& length, bool keep, const std::stop_token& stop) {
    std::vector<double> taken;
    // A stamp within the turn would be a part of a sample.
    if (keep && probe_ != nullptr) probe_->begin(stream_);
    samples_->restart(/*lead_in=*/false);
    const double begin = steady_seconds();
    double kept_from = begin, device_s = 0, elapsed = 0;
    bool more = true;
    while (more || samples_->queued() > 0) {
      const double seconds = more ? samples_->next(stop) : samples_->take(stop);
      if (stop.stop_requested()) return std::nan("");
      if (std::isfinite(seconds)) device_s += seconds;
      const double now = steady_seconds();
      // The first sample always goes: it begins with the other side's data in the cache.
      const bool early = elapsed <= length.dropped_s;
      elapsed = std::max(device_s, now - begin);
      if (early && more) {
        kept_from = now;
        continue;
      }
      add(seconds / double(samples_->iterations()), taken);
      more = more && (elapsed < length.seconds || taken.size() < kLeastSamples) &&
             dropped_ < kMostDropped;
    }
    if (keep) {
      auto& all = result.measurement.samples_s;
      all.insert(all.end(), taken.begin(), taken.end());
      result.turns.emplace_back(kept_from, steady_seconds());
      if (probe_ != nullptr) {
        probe_->end(stream_);
        if (const auto mhz = probe_->mhz(stream_)) clocks_.push_back(*mhz);
      }
    }
    return length.mean ? mean(taken) : median(taken);
  }

  void finish(const std::string& stop) {
    result.measurement.stop = stop;
    result.measurement.dropped = dropped_;
    if (!clocks_.empty()) result.clock_mhz = median(clocks_);
  }

  PairedSide result;

 private:
  static constexpr std::int64_t kMostDropped = 100;

  void add(double seconds, std::vector<double>& taken) {
    if (std::isfinite(seconds) && seconds > 0) {
      taken.push_back(seconds);
    } else {
      ++dropped_;
    }
  }

  Stream& stream_;
  ClockProbe* probe_;
  std::unique_ptr<SampleStream> samples_;
  std::vector<double> clocks_;
  std::int64_t dropped_ = 0;
};

using Sides = std::vector<std::unique_ptr<Side>>;

bool flat(const std::deque<double>& medians) {
  if (medians.size() < kFlatTurns) return false;
  const auto [low, high] = std::minmax_element(medians.begin(), medians.end());
  return *high - *low <= kFlatWithin * *low;
}

/// All sides in turn, until each is flat. Seconds of load.
double warm_up(Sides& sides, const SamplingPolicy& policy, const std::stop_token& stop,
               const ProgressFn& progress) {
  if (!(policy.warmup_s > 0)) return 0;
  const double begin = steady_seconds();
  std::vector<std::deque<double>> medians(sides.size());
  while (!stop.stop_requested()) {
    bool all_flat = true;
    for (std::size_t i = 0; i < sides.size(); ++i) {
      medians[i].push_back(sides[i]->take_turn(kShortTurn, /*keep=*/false, stop));
      if (medians[i].size() > kFlatTurns) medians[i].pop_front();
      all_flat = all_flat && flat(medians[i]);
    }
    const double elapsed = steady_seconds() - begin;
    if (progress) progress({elapsed, 0, 0});
    if (all_flat || elapsed >= policy.warmup_s) return elapsed;
  }
  return steady_seconds() - begin;
}

/// Medians of the turns: the first side has one more than the others.
struct Turns {
  std::vector<double> first;
  std::vector<std::vector<double>> others;
};

std::string collect(Sides& sides, const SamplingPolicy& policy, const TurnLength& length,
                    const std::stop_token& stop, const ProgressFn& progress, Turns& turns) {
  PairedRule rule(policy, sides.size());
  const double begin = steady_seconds();
  turns.others.resize(sides.size() - 1);
  turns.first.push_back(sides.front()->take_turn(length, /*keep=*/true, stop));
  for (std::string reason; reason.empty();) {
    for (std::size_t i = 1; i < sides.size(); ++i) {
      turns.others[i - 1].push_back(sides[i]->take_turn(length, /*keep=*/true, stop));
    }
    turns.first.push_back(sides.front()->take_turn(length, /*keep=*/true, stop));
    if (stop.stop_requested()) return "interrupted";
    const double around = (turns.first.back() + turns.first[turns.first.size() - 2]) / 2;
    std::vector<double> ratios;
    for (const auto& other : turns.others) ratios.push_back(other.back() / around);
    const double elapsed = steady_seconds() - begin;
    reason = rule.add(ratios, elapsed);
    if (progress) progress({elapsed, turns.first.back(), rule.noise()});
    if (!reason.empty()) return reason;
  }
  return {};
}

}  // namespace

PairedMeasurement measure_paired(Device& device, Stream& stream, const std::vector<Job*>& jobs,
                                 const SamplingPolicy& policy, const std::stop_token& stop,
                                 const ProgressFn& progress, const PowerBoundFn& power_bound,
                                 ClockProbe* probe, double hang_s) {
  const double resolution_s = timer_resolution(device, stream);
  Sides sides;
  for (Job* job : jobs) {
    sides.push_back(
        std::make_unique<Side>(device, stream, *job, policy, resolution_s, probe, hang_s));
  }
  const double warm_from = steady_seconds();
  const double warmup_s = warm_up(sides, policy, stop, progress);
  const bool long_turns = power_bound && power_bound(warm_from, steady_seconds());
  const TurnLength& length = long_turns ? kLongTurn : kShortTurn;

  Turns turns;
  const double begin = steady_seconds();
  const std::string reason = collect(sides, policy, length, stop, progress, turns);
  PairedMeasurement measured;
  for (const auto& side : sides) {
    side->finish(reason);
    Measurement& measurement = side->result.measurement;
    measurement.begin_s = begin;
    measurement.end_s = steady_seconds();
    measurement.warmup_s = warmup_s;
    measurement.block_s = length.seconds;
    if (reason == "bad_timer" || (measurement.samples_s.empty() && reason != "interrupted")) {
      throw DeviceError("E_BAD_TIMER", "the device's timer returned no usable time in " +
                                           std::to_string(measurement.dropped) + " samples");
    }
    measured.sides.push_back(std::move(side->result));
  }
  for (const auto& other : turns.others) {
    measured.ratios.push_back(paired_ratio(turn_ratios(turns.first, other)));
  }
  if (reason != "interrupted") stream.synchronize();
  return measured;
}

}  // namespace gpubench
