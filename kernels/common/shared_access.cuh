// SPDX-License-Identifier: Apache-2.0
// Shared memory by 32-bit address: words, pairs, and the 8 x 8 matrices that tensor cores deal in.
#pragma once

#include <cstdint>

namespace gpubench {

__device__ inline std::uint32_t load_shared(std::uint32_t from) {
  std::uint32_t word;
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(word) : "r"(from) : "memory");
  return word;
}

__device__ inline uint2 load_shared_pair(std::uint32_t from) {
  uint2 pair;
  asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];"
               : "=r"(pair.x), "=r"(pair.y)
               : "r"(from)
               : "memory");
  return pair;
}

__device__ inline void store_shared_pair(std::uint32_t to, uint2 pair) {
  asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(to), "r"(pair.x), "r"(pair.y) : "memory");
}

/// The object at an address.
template <class T>
__device__ T& shared_object(std::uint32_t at) {
  return *static_cast<T*>(__cvta_shared_to_generic(at));
}

/// Four 8 x 8 matrices of 16-bit elements, two to a word as wgmma's accumulators lie; lane l tells
/// where row l % 8 of matrix l / 8 goes.
__device__ inline void store_matrices(std::uint32_t to, const std::uint32_t (&words)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to),
               "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3])
               : "memory");
}

}  // namespace gpubench
