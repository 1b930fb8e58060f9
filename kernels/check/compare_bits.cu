// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/check/compare_bits.h"
#include "kernels/common/launch.cuh"

namespace gpubench {
namespace {

constexpr unsigned kThreads = 256;
constexpr std::uint64_t kVector = 16, kWord = 4;

/// Differences are rare: an atomic each costs nothing as long as there are none.
__device__ void tell(BitDifferences* found, std::uint64_t byte) {
  static_assert(sizeof(unsigned long long) == sizeof(std::uint64_t));
  atomicAdd(reinterpret_cast<unsigned long long*>(&found->words), 1ull);
  atomicMin(reinterpret_cast<unsigned long long*>(&found->first_byte),
            static_cast<unsigned long long>(byte));
}

__global__ void compare_bits_kernel(const void* a, const void* b, std::uint64_t bytes,
                                    BitDifferences* found) {
  const std::uint64_t vectors = bytes / kVector;
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  const std::uint64_t first = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (std::uint64_t i = first; i < vectors; i += step) {
    const uint4 left = __ldcs(static_cast<const uint4*>(a) + i);
    const uint4 right = __ldcs(static_cast<const uint4*>(b) + i);
    if (left.x != right.x) tell(found, i * kVector);
    if (left.y != right.y) tell(found, i * kVector + kWord);
    if (left.z != right.z) tell(found, i * kVector + 2 * kWord);
    if (left.w != right.w) tell(found, i * kVector + 3 * kWord);
  }
  // What no whole vector holds: at most four words, the last one perhaps not whole.
  const std::uint64_t begin = vectors * kVector + first * kWord;
  if (begin >= bytes) return;
  const auto* left = static_cast<const unsigned char*>(a);
  const auto* right = static_cast<const unsigned char*>(b);
  for (std::uint64_t at = begin; at < begin + kWord && at < bytes; ++at) {
    if (left[at] == right[at]) continue;
    tell(found, begin);
    break;
  }
}

}  // namespace

void launch_compare_bits(void* stream, const void* a, const void* b, std::uint64_t bytes,
                         BitDifferences* found) {
  if (bytes == 0) return;
  const std::uint64_t work = std::max<std::uint64_t>(bytes / kVector, 1);
  compare_bits_kernel<<<grid_for(work, kThreads), kThreads, 0, native_stream(stream)>>>(a, b, bytes,
                                                                                        found);
  check_launch("comparison of bits");
}

}  // namespace gpubench
