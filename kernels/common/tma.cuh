// SPDX-License-Identifier: Apache-2.0
// The copy engine of sm_90 (TMA): boxes of a matrix between global and shared memory, by one
// thread. Coordinates count elements, the contiguous dimension first. What lies outside the matrix
// arrives as zeros, which count as bytes, and is left out of stores.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace gpubench {

__device__ inline void tma_prefetch_map(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/// Into the L2 cache.
__device__ inline void tma_prefetch(const CUtensorMap* map, int column, int row) {
  asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global [%0, {%1, %2}];" ::"l"(map), "r"(column),
               "r"(row)
               : "memory");
}

/// To this block; its `barrier` hears of the bytes.
__device__ inline void tma_load(std::uint32_t to, const CUtensorMap* map, int column, int row,
                                std::uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3}], [%4];" ::"r"(to),
      "l"(map), "r"(column), "r"(row), "r"(barrier)
      : "memory");
}

/// To the same place in every block of the cluster whose bit is set; the barrier at the same place
/// in each hears of its bytes.
__device__ inline void tma_load_multicast(std::uint32_t to, const CUtensorMap* map, int column,
                                          int row, std::uint32_t barrier, std::uint16_t blocks) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
      "l"(map), "r"(column), "r"(row), "r"(barrier), "h"(blocks)
      : "memory");
}

__device__ inline void tma_store(const CUtensorMap* map, int column, int row, std::uint32_t from) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map),
      "r"(column), "r"(row), "r"(from)
      : "memory");
}

/// The stores of this thread so far are one group.
__device__ inline void tma_commit_stores() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/// All groups of this thread but the last `kPending` have read their shared memory.
template <int kPending>
__device__ void tma_wait_stores_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}

/// What this thread wrote to shared memory with ordinary stores is there for the copy engine and
/// the tensor cores; comes before the barrier that tells their issuer.
__device__ inline void fence_async_proxy() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

}  // namespace gpubench
