// SPDX-License-Identifier: Apache-2.0
// Finds the fastest of several plans by timing them in turn, for providers with `tune=1`.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "gpubench/workload.h"

namespace gpubench {

/// Enqueues one iteration; `iteration` picks the buffer set.
using Candidate = std::function<void(Stream& stream, std::size_t iteration)>;

/// In turn all candidates run at one clock, which favours what draws more power. So those that are
/// close meet again, each alone, at the clock that the power limit leaves it.
struct Finals {
  std::size_t most = 3;  ///< the fastest in turn; candidate 0 comes on top
  double within = 1.04;  ///< of the best's time
  double seconds = 0.6;  ///< for each, once it has run for 0.15 s; the fastest fifth counts
};

/// Index of the fastest candidate: under load, rounds of a few milliseconds each, A B C A B C, so
/// that clocks and temperature treat all alike; then the finals, with candidate 0, the library's
/// own choice. That stands unless another is 1 % faster. A candidate that throws an Error is out.
/// Throws Unsupported when all do.
std::size_t fastest(Context& context, const std::vector<Candidate>& candidates,
                    const Finals& finals = {});

}  // namespace gpubench
