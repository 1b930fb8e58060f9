// SPDX-License-Identifier: Apache-2.0
// Passes over a working set that stays in the L2 cache, by accesses that the L1 caches do not
// serve. `stream` is a cudaStream_t, arrays are aligned to 16 bytes.
#pragma once

#include <cstdint>

namespace gpubench {

/// Elements (4 KiB) whose sum is one result of a pass: one warp reads them at once.
constexpr std::uint64_t kCacheChunk = 1024;

struct CacheArguments {
  const float* a = nullptr;
  float* copy = nullptr;    ///< of a's size; nullptr: read only
  float* sums = nullptr;    ///< passes x chunks: the sum of each chunk, in each pass
  std::uint64_t count = 0;  ///< elements of a
  std::uint64_t passes = 1;
};

constexpr std::uint64_t cache_chunks(std::uint64_t count) {
  return (count + kCacheChunk - 1) / kCacheChunk;
}

void launch_cache(void* stream, const CacheArguments& arguments);

/// The same sums in double, each chunk by a thread of its own; `copy` becomes a.
void launch_cache_reference(void* stream, const CacheArguments& arguments);

}  // namespace gpubench
