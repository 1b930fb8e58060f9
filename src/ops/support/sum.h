// SPDX-License-Identifier: Apache-2.0
// The sum that the cpu device's reading loops make of what they read.
#pragma once

#include <cstddef>

namespace gpubench {

/// Several sums at once: one alone would wait for each addition.
inline float sum_of(const float* values, std::size_t count) {
  constexpr std::size_t kLanes = 16;
  float lanes[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += values[i + lane];
  }
  float sum = 0;
  for (const float lane : lanes) sum += lane;
  for (; i < count; ++i) sum += values[i];
  return sum;
}

}  // namespace gpubench
