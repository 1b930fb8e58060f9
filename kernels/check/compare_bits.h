// SPDX-License-Identifier: Apache-2.0
// Whether two arrays on the device hold the same bits: NaN equals the same NaN, +0 is not -0.
#pragma once

#include <cstdint>

namespace gpubench {

/// On the device, zero and all ones before the first comparison; grows with each.
struct BitDifferences {
  std::uint64_t words;       ///< differing words of 32 bits, a shorter rest counting as one
  std::uint64_t first_byte;  ///< lowest offset of a differing word
};

/// Ordered in `stream` (a cudaStream_t), does not wait; `a` and `b` are aligned to 16 bytes.
void launch_compare_bits(void* stream, const void* a, const void* b, std::uint64_t bytes,
                         BitDifferences* found);

}  // namespace gpubench
