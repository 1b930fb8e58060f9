// SPDX-License-Identifier: Apache-2.0
// Bytes that depend on their position alone: what is transferred, and what is expected there.
#pragma once

#include <cstdint>

#include "kernels/common/random.h"

namespace gpubench {

struct BytePattern {
  bool random = true;
  std::uint32_t constant = 0;  ///< every four bytes, where not random
  std::uint64_t seed = 1;
  std::uint64_t stream = 0;
  std::uint32_t flip = 0;  ///< bits changed in every four bytes: all of them make a poison that is
                           ///< wrong in every byte
};

/// Bytes 16 i to 16 i + 15, as words in the processor's order (little-endian everywhere here).
GPUBENCH_HOST_DEVICE inline random::Words pattern_block(const BytePattern& pattern,
                                                        std::uint64_t i) {
  random::Words words{{pattern.constant, pattern.constant, pattern.constant, pattern.constant}};
  if (pattern.random) words = random::philox(pattern.seed, pattern.stream, i);
  for (std::uint32_t& word : words.v) word ^= pattern.flip;
  return words;
}

GPUBENCH_HOST_DEVICE inline unsigned char byte_of(const random::Words& block, unsigned index) {
  return static_cast<unsigned char>(block.v[index / 4] >> (8 * (index % 4)));
}

struct ByteDifference {
  unsigned long long bad = 0;  ///< CUDA's atomics know this type, not std::uint64_t
  unsigned long long first_bad = ~0ULL;
};

}  // namespace gpubench
