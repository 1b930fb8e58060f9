// SPDX-License-Identifier: Apache-2.0
#include "ops/support/tune.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "gpubench/error.h"

namespace gpubench {
namespace {

constexpr std::size_t kRounds = 3;
constexpr double kSliceSeconds = 3e-3;
constexpr double kHopeless = 1.15;  // slower than the best by this after a round: not timed again
// Slices this short run at clocks that a power-capped card can't hold, where an algorithm that
// draws more power looks faster than it is. So the best of them and the first candidate (the
// library's own choice) meet again, each under load until the clock has settled.
constexpr double kSettleSeconds = 0.6;
constexpr double kFinalSeconds = 0.25;
// The second to run starts at the clock that the first has left: an advantage below this is that,
// or noise, and the library's choice stands.
constexpr double kKeepFirstWithin = 1.03;
constexpr std::size_t kMostIterations = 1000;

struct Entry {
  std::size_t index = 0;
  double iteration_s = 0;  // first, rough time
  std::size_t iterations = 1;
  std::vector<double> seconds = {};  // per iteration, one per round
};

double middle(std::vector<double> values) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

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

/// Rounds of short slices, A B C A B C; what is hopeless drops out.
void time_in_turn(Context& context, const std::vector<Candidate>& candidates,
                  std::vector<Entry>& entries, std::size_t& next_iteration) {
  if (entries.size() < 2) return;
  for (Entry& entry : entries) {
    const double wanted = std::ceil(kSliceSeconds / std::max(entry.iteration_s, 1e-6));
    entry.iterations =
        std::clamp<std::size_t>(static_cast<std::size_t>(wanted), 1, kMostIterations);
    entry.seconds.clear();
  }
  for (std::size_t round = 0; round < kRounds; ++round) {
    for (Entry& entry : entries) {
      entry.seconds.push_back(
          time_slice(context, candidates[entry.index], entry.iterations, next_iteration));
    }
    const double best = middle(fastest_of(entries).seconds);
    std::erase_if(entries,
                  [&](const Entry& entry) { return middle(entry.seconds) > kHopeless * best; });
  }
}

/// Seconds per iteration once the clock has settled under this candidate's load.
double settled_seconds(Context& context, const Candidate& candidate, double iteration_s,
                       std::size_t& next_iteration) {
  const auto count = [&](double seconds) {
    return static_cast<std::size_t>(std::ceil(seconds / std::max(iteration_s, 1e-6)));
  };
  time_slice(context, candidate, count(kSettleSeconds), next_iteration);
  return time_slice(context, candidate, count(kFinalSeconds), next_iteration);
}

}  // namespace

std::size_t fastest(Context& context, const std::vector<Candidate>& candidates) {
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
  time_in_turn(context, candidates, entries, next_iteration);
  const Entry best = fastest_of(entries);
  const auto first = std::find_if(entries.begin(), entries.end(),
                                  [](const Entry& entry) { return entry.index == 0; });
  if (best.index == 0 || first == entries.end()) return best.index;
  const double first_s =
      settled_seconds(context, candidates[0], middle(first->seconds), next_iteration);
  const double best_s =
      settled_seconds(context, candidates[best.index], middle(best.seconds), next_iteration);
  return first_s <= kKeepFirstWithin * best_s ? 0 : best.index;
}

}  // namespace gpubench
