// SPDX-License-Identifier: Apache-2.0
// The 128-byte swizzle that the copy engine writes and wgmma reads: rows of 128 bytes, eight to an
// atom of 1024; the eight 16-byte chunks of row r change places by exclusive or with r mod 8, so
// that a column of chunks lies in all banks. Buffers begin at multiples of 1024.
#pragma once

#include <cstdint>

namespace gpubench {

constexpr int kSwizzleRowBytes = 128, kSwizzleAtomBytes = 1024;

/// Offset of byte `byte` (0 to 127) of row `row`.
__host__ __device__ constexpr std::uint32_t swizzle128(std::uint32_t row, std::uint32_t byte) {
  return row * kSwizzleRowBytes + (byte ^ ((row & 7u) << 4));
}

}  // namespace gpubench
