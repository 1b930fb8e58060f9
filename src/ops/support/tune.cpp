// SPDX-License-Identifier: Apache-2.0
#include "ops/support/tune.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "gpubench/error.h"

namespace gpubench {
namespace {

constexpr std::size_t kRounds = 5;
constexpr double kSliceSeconds = 3e-3;
constexpr double kHopeless = 1.15;  // slower than the best by this after a round: not timed again
// Until a card has reached its power limit every slice runs at another clock, and the first
// candidates would look faster than they are.
constexpr double kLoadSeconds = 0.3;
constexpr double kSettleSeconds = 0.15;  // of a final
constexpr double kFinalSliceSeconds = 0.05;
constexpr double kFinalRank = 0.2;
// Such finals are good to about this, and a choice that changes between runs is a nuisance.
constexpr double kKeepFirstWithin = 1.01;
constexpr std::size_t kMostIterations = 1000;

struct Entry {
  std::size_t index = 0;
  double iteration_s = 0;  // first, rough time
  std::size_t iterations = 1;
  std::vector<double> seconds = {};  // per iteration, one per round
};

/// The value with a share of `rank` below it.
double ranked(std::vector<double> values, double rank) {
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(rank * static_cast<double>(values.size()));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

double middle(std::vector<double> values) { return ranked(std::move(values), 0.5); }

/// Seconds per iteration of one slice.
double time_slice(Context& context, const Candidate& candidate, std::size_t iterations,
                  std::size_t& next_iteration) {
  end_if_stopped(context.stop);
  const auto begin = context.device.make_event(), end = context.device.make_event();
  begin->record(context.stream);
  for (std::size_t i = 0; i < iterations; ++i) candidate(context.stream, next_iteration++);
  end->record(context.stream);
  context.stream.synchronize();
  return end->seconds_since(*begin) / static_cast<double>(iterations);
}

const Entry& fastest_of(const std::vector<Entry>& entries) {
  return *std::min_element(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return middle(a.seconds) < middle(b.seconds);
  });
}

std::size_t iterations_of(double seconds, double iteration_s) {
  return static_cast<std::size_t>(std::ceil(seconds / std::max(iteration_s, 1e-6)));
}

/// Rounds of short slices, A B C A B C; what is hopeless drops out. Fastest first.
void time_in_turn(Context& context, const std::vector<Candidate>& candidates,
                  std::vector<Entry>& entries, std::size_t& next_iteration) {
  if (entries.size() < 2) return;
  for (Entry& entry : entries) {
    entry.iterations = std::min(iterations_of(kSliceSeconds, entry.iteration_s), kMostIterations);
  }
  const Entry& load = entries.front();
  time_slice(context, candidates[load.index], iterations_of(kLoadSeconds, load.iteration_s),
             next_iteration);
  for (std::size_t round = 0; round < kRounds; ++round) {
    for (Entry& entry : entries) {
      entry.seconds.push_back(
          time_slice(context, candidates[entry.index], entry.iterations, next_iteration));
    }
    const double best = middle(fastest_of(entries).seconds);
    std::erase_if(entries,
                  [&](const Entry& entry) { return middle(entry.seconds) > kHopeless * best; });
  }
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return middle(a.seconds) < middle(b.seconds);
  });
}

/// Leaves those that may be the fastest alone.
void keep_finalists(std::vector<Entry>& entries, const Finals& finals) {
  const double best = middle(entries.front().seconds);
  std::size_t place = 0;
  std::erase_if(entries, [&](const Entry& entry) {
    const bool close = place++ < finals.most && middle(entry.seconds) <= finals.within * best;
    return !close && entry.index != 0;
  });
}

/// Seconds per iteration once the clock has settled under this candidate's load. Each second the
/// control of a power limit takes back what was drawn too much, for up to 0.3 s and 20 % of the
/// clock, now in one candidate's final, now in another's, and what comes after another load can be
/// slow for half a second: so a low rank of short slices counts.
double settled_seconds(Context& context, const Candidate& candidate, double iteration_s,
                       double seconds, std::size_t& next_iteration) {
  time_slice(context, candidate, iterations_of(kSettleSeconds, iteration_s), next_iteration);
  std::vector<double> slices;
  for (double begun_s = 0; begun_s < seconds; begun_s += kFinalSliceSeconds) {
    slices.push_back(time_slice(context, candidate, iterations_of(kFinalSliceSeconds, iteration_s),
                                next_iteration));
  }
  return ranked(std::move(slices), kFinalRank);
}

}  // namespace

std::size_t fastest(Context& context, const std::vector<Candidate>& candidates,
                    const Finals& finals) {
  std::vector<Entry> entries;
  std::size_t next_iteration = 0;
  std::optional<Error> refused;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    try {
      time_slice(context, candidates[i], 1, next_iteration);  // loads the kernel
      const double once = time_slice(context, candidates[i], 1, next_iteration);
      entries.push_back({.index = i, .iteration_s = once});
    } catch (const DeviceError&) {
      throw;  // a fault of the device is no property of the candidate
    } catch (const Error& error) {
      end_if_stopped(context.stop);
      if (!refused) refused = error;
    }
  }
  if (entries.empty()) {
    throw Unsupported("E_UNSUPPORTED_SHAPE",
                      refused ? std::string("no candidate runs: ") + refused->what()
                              : std::string("there is no candidate to time"));
  }
  if (entries.size() == 1) return entries.front().index;
  time_in_turn(context, candidates, entries, next_iteration);
  keep_finalists(entries, finals);
  if (entries.size() == 1) return entries.front().index;
  for (Entry& entry : entries) {
    const double in_turn = middle(entry.seconds);
    entry.seconds = {
        settled_seconds(context, candidates[entry.index], in_turn, finals.seconds, next_iteration)};
  }
  const Entry& best = fastest_of(entries);
  const auto first = std::find_if(entries.begin(), entries.end(),
                                  [](const Entry& entry) { return entry.index == 0; });
  const bool keep_first =
      first != entries.end() && middle(first->seconds) <= kKeepFirstWithin * middle(best.seconds);
  return keep_first ? 0 : best.index;
}

}  // namespace gpubench
