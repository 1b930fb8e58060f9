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

/// Index of the fastest candidate: under load, rounds of a few milliseconds each, A B C A B C, so
/// that clocks and temperature treat all alike; then the fastest of those within 15 % (`finalists`
/// at most) and candidate 0, the library's own choice, each alone, at the clock that the power
/// limit leaves it, for 1.2 s. Candidate 0 stands unless another is 1 % faster. A candidate that
/// throws an Error is out. Throws Unsupported when all do.
std::size_t fastest(Context& context, const std::vector<Candidate>& candidates,
                    std::size_t finalists = 3);

}  // namespace gpubench
