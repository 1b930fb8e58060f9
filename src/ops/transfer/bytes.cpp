// SPDX-License-Identifier: Apache-2.0
#include "ops/transfer/bytes.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <mutex>

#include "gpubench/error.h"
#include "ops/support/parallel.h"

namespace gpubench {
namespace {

constexpr std::uint64_t kBlockBytes = sizeof(random::Words);
constexpr std::size_t kGrain = 1 << 14;
static_assert(std::endian::native == std::endian::little, "byte_of() counts from the low end");

}  // namespace

BytePattern byte_pattern(DataDist data, std::uint64_t seed, std::uint64_t stream) {
  switch (data) {
    case DataDist::normal:
    case DataDist::uniform:
      return {.random = true, .seed = seed, .stream = stream};
    case DataDist::zeros:
      return {.random = false, .constant = 0};
    case DataDist::ones:
      return {.random = false, .constant = std::bit_cast<std::uint32_t>(1.0f)};
  }
  throw Error("E_INTERNAL", "unknown data distribution");
}

void fill_bytes(std::byte* to, std::uint64_t bytes, const BytePattern& pattern) {
  parallel_for((bytes + kBlockBytes - 1) / kBlockBytes, kGrain,
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t i = begin; i < end; ++i) {
                   const random::Words words = pattern_block(pattern, i);
                   const std::uint64_t at = i * kBlockBytes;
                   std::memcpy(to + at, &words, std::min(kBlockBytes, bytes - at));
                 }
               });
}

ByteDifference compare_bytes(const std::byte* found, std::uint64_t bytes,
                             const BytePattern& pattern) {
  ByteDifference all;
  std::mutex mutex;
  parallel_for((bytes + kBlockBytes - 1) / kBlockBytes, kGrain,
               [&](std::size_t begin, std::size_t end) {
                 ByteDifference mine;
                 for (std::size_t i = begin; i < end; ++i) {
                   const random::Words words = pattern_block(pattern, i);
                   const std::uint64_t at = i * kBlockBytes;
                   const std::uint64_t count = std::min(kBlockBytes, bytes - at);
                   if (std::memcmp(found + at, &words, count) == 0) continue;
                   for (unsigned j = 0; j < count; ++j) {
                     if (found[at + j] == static_cast<std::byte>(byte_of(words, j))) continue;
                     if (mine.bad++ == 0) mine.first_bad = at + j;
                   }
                 }
                 const std::scoped_lock lock(mutex);
                 all.bad += mine.bad;
                 all.first_bad = std::min(all.first_bad, mine.first_bad);
               });
  return all;
}

}  // namespace gpubench
