// SPDX-License-Identifier: Apache-2.0
// Which random weights and which elements the check of a large matrix product uses: the same on
// host and device, for a seed.
#pragma once

#include <cstdint>

#include "kernels/common/random.h"

namespace gpubench {

/// Columns that one projected value sums: few enough that one wrong element stands out of the
/// rounding of the others.
constexpr std::int64_t kProjectionColumns = 64;
/// Samples are taken one from each tile of this side.
constexpr std::int64_t kSampleTile = 64;

constexpr std::int64_t projection_groups(std::int64_t n) {
  return (n + kProjectionColumns - 1) / kProjectionColumns;
}

constexpr std::int64_t sample_count(std::int64_t m, std::int64_t n) {
  return ((m + kSampleTile - 1) / kSampleTile) * ((n + kSampleTile - 1) / kSampleTile);
}

/// Weight of a column in its group's sum, in +-(0.5, 1.5): different sizes, so that columns that
/// changed places are seen; none near zero, so that every element counts.
GPUBENCH_HOST_DEVICE inline double projection_weight(std::uint64_t seed, std::int64_t column) {
  constexpr std::uint64_t kStream = 0x70726f6aULL
                                    << 32;  // apart from the operands' streams 0, 1, ...
  const random::Words words = random::philox(seed, kStream, static_cast<std::uint64_t>(column));
  const double size = 0.5 + static_cast<double>(random::unit(words.v[0]));
  return (words.v[1] & 1u) != 0 ? size : -size;
}

/// Each matrix of a batch is sampled at places of its own.
GPUBENCH_HOST_DEVICE constexpr std::uint64_t batch_seed(std::uint64_t seed, std::int64_t batch) {
  return seed + (static_cast<std::uint64_t>(batch) << 32);
}

struct SamplePosition {
  std::int64_t row = 0;
  std::int64_t column = 0;
};

/// A position inside tile `sample` (row-major over tiles) of an m x n matrix.
GPUBENCH_HOST_DEVICE inline SamplePosition sample_position(std::uint64_t seed, std::int64_t sample,
                                                           std::int64_t m, std::int64_t n) {
  constexpr std::uint64_t kStream = 0x73616d70ULL << 32;
  const std::int64_t tiles_per_row = (n + kSampleTile - 1) / kSampleTile;
  const std::int64_t row = sample / tiles_per_row * kSampleTile;
  const std::int64_t column = sample % tiles_per_row * kSampleTile;
  const std::int64_t rows = m - row < kSampleTile ? m - row : kSampleTile;
  const std::int64_t columns = n - column < kSampleTile ? n - column : kSampleTile;
  const random::Words words = random::philox(seed, kStream, static_cast<std::uint64_t>(sample));
  return {row + static_cast<std::int64_t>(words.v[0]) % rows,
          column + static_cast<std::int64_t>(words.v[1]) % columns};
}

}  // namespace gpubench
