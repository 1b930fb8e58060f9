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

constexpr std::size_t kRounds = 5;
constexpr double kSliceSeconds = 3e-3;
constexpr double kHopeless = 1.15;  // slower than the best by this after a round: not timed again
constexpr std::size_t kMostIterations = 1000;

struct Entry {
  std::size_t index = 0;
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
  const auto begin = context.device.make_event(), end = context.device.make_event();
  begin->record(context.stream);
  for (std::size_t i = 0; i < iterations; ++i) candidate(context.stream, next_iteration++);
  end->record(context.stream);
  context.stream.synchronize();
  return end->seconds_since(*begin) / static_cast<double>(iterations);
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
      const double wanted = std::ceil(kSliceSeconds / std::max(once, 1e-6));
      entries.push_back(
          {i, std::clamp<std::size_t>(static_cast<std::size_t>(wanted), 1, kMostIterations)});
    } catch (const DeviceError&) {
      throw;  // a fault of the device is no property of the candidate
    } catch (const Error& error) {
      if (!refused) refused = error;
    }
  }
  if (entries.empty()) {
    throw Unsupported("E_UNSUPPORTED_SHAPE",
                      refused ? std::string("no candidate runs: ") + refused->what()
                              : std::string("there is no candidate to time"));
  }
  for (std::size_t round = 0; round < kRounds && entries.size() > 1; ++round) {
    for (Entry& entry : entries) {
      entry.seconds.push_back(
          time_slice(context, candidates[entry.index], entry.iterations, next_iteration));
    }
    double best = std::numeric_limits<double>::infinity();
    for (const Entry& entry : entries) best = std::min(best, middle(entry.seconds));
    std::erase_if(entries,
                  [&](const Entry& entry) { return middle(entry.seconds) > kHopeless * best; });
  }
  if (entries.size() == 1) return entries.front().index;
  return std::min_element(
             entries.begin(), entries.end(),
             [](const Entry& a, const Entry& b) { return middle(a.seconds) < middle(b.seconds); })
      ->index;
}

}  // namespace gpubench
