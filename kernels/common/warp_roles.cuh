// SPDX-License-Identifier: Apache-2.0
// What warp-specialised kernels need: who a warp is, registers from one role to another, barriers
// of part of a block and of a cluster.
#pragma once

#include <cstdint>

namespace gpubench {

constexpr int kWarpThreads = 32, kWarpgroupThreads = 128;

/// The same for a whole warp, and known to be so by the compiler.
__device__ inline int warpgroup_index() {
  return __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / kWarpgroupThreads, 0);
}

/// Registers per thread from here on, by all warps of a warpgroup; multiples of 8. Ignored by
/// ptxas (C7508) unless the kernel has __launch_bounds__(threads, 1).
template <int kRegisters>
__device__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

/// __syncthreads() of the `threads` that name the same barrier, 1 to 15.
__device__ inline void named_barrier(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

/// Arrives at a named barrier that others wait at, without waiting.
__device__ inline void named_barrier_arrive(int barrier, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

/// Programmatic dependent launch: a kernel launched with it may begin before the one before it in
/// the stream has ended, and touches no global memory before this returns, which is when that one
/// has ended.
__device__ inline void wait_for_previous_kernel() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}
/// The next kernel's blocks may come as soon as there is room.
__device__ inline void let_next_kernel_begin() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

__device__ inline std::uint32_t cluster_rank() {
  std::uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

/// All threads of the cluster that have not ended.
__device__ inline void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}

}  // namespace gpubench
