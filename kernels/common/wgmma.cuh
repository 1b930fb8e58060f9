// SPDX-License-Identifier: Apache-2.0
// The tensor cores of sm_90 (wgmma): descriptors of shared memory, the products, and the fences
// around them, since they are asynchronous. Between wgmma_fence() and wgmma_wait() nothing may
// touch the accumulators, or ptxas gives up the overlap (C7510).
#pragma once

#include <cstdint>

#include "kernels/common/swizzle.cuh"
#include "kernels/common/wgmma_kinds.cuh"
#include "kernels/common/wgmma_n128.cuh"
#include "kernels/common/wgmma_n192.cuh"
#include "kernels/common/wgmma_n256.cuh"
#include "kernels/common/wgmma_n64.cuh"

namespace gpubench {

/// Descriptor of an operand with the 128-byte swizzle, at a multiple of 1024. Along its rows (k or,
/// for transposed operands, m or n) `leading_bytes` lead from one 128-byte column of rows to the
/// next, where wgmma reads more than one; `stride_bytes` from eight rows to the next eight.
__device__ inline std::uint64_t wgmma_descriptor(std::uint32_t address, std::uint32_t leading_bytes,
                                                 std::uint32_t stride_bytes) {
  constexpr std::uint64_t kSwizzle128 = std::uint64_t{1} << 62;
  return kSwizzle128 | (static_cast<std::uint64_t>(stride_bytes >> 4) << 32) |
         (static_cast<std::uint64_t>(leading_bytes >> 4) << 16) |
         static_cast<std::uint64_t>((address & 0x3ffffu) >> 4);
}

/// D[64][N] = A B + D, or A B alone; N is twice the words of `sums`.
template <class Kind, int kWords>
__device__ void wgmma(std::uint32_t (&sums)[kWords], std::uint64_t a, std::uint64_t b,
                      bool accumulate) {
  wgmma_issue(Kind{}, sums, a, b, accumulate ? 1 : 0);
}

/// Before the first wgmma, and after the accumulators were touched by other instructions.
__device__ inline void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

__device__ inline void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/// All groups but the last `kPending` are done with their shared memory and their accumulators.
template <int kPending>
__device__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

/// The compiler sees no tie between a wait and the accumulators: this keeps what it does with them
/// on the side of the wait where it was written.
template <int kWords>
__device__ void wgmma_pin(std::uint32_t (&accumulators)[kWords]) {
#pragma unroll
  for (int i = 0; i < kWords; ++i) asm volatile("" : "+r"(accumulators[i])::"memory");
}

}  // namespace gpubench
