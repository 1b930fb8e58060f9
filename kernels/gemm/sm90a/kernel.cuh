// SPDX-License-Identifier: Apache-2.0
// A matrix product on Hopper's tensor cores, for a block per multiprocessor that stays (persistent)
// and takes one tile of C after the other.
//
// Roles: one thread of warpgroup 0 asks the copy engine (TMA) for the stages of A and B, 128 bytes
// of k deep, as far ahead as there are free ones. The consumers, two warpgroups for large tiles,
// take half the tile's rows each: wgmma from shared memory into FP32 (INT32) registers, one stage
// in flight while the next is waited for. The producer gives most of its registers to the
// consumers, whose accumulators take 128 each at 128 x 256 and 256 x 128.
//
// Barriers: full[stage] ends when the stage's bytes are there, empty[stage] when every warp of
// every consumer that reads what the stage's producer writes has done with it.
//
// Clusters: neighbours share B (2x1), A (1x2) or both (2x2): each loads a part for all of them,
// which takes a third to a half off the L2's traffic at 128 x 256.
//
// Order: bands of tile rows, back and forth (tile_order.h).
//
// Epilogue: in registers, then in boxes of 64 rows by 128 bytes through two buffers of shared
// memory to the copy engine, which stores them while the next tile is multiplied (store.cuh).
//
// Stagger: consumers that begin together end together, and the tensor cores idle while both store.
// If the second begins its first tile some stages late, which costs nothing since one alone keeps
// the tensor cores busy, it stays behind, and each stores while the other multiplies.
//
// Split k: parts of k are pieces of their own, whose sums go to a workspace; a second kernel adds
// them in order (split_sum_sm90a.cu).
//
// Launch: a block is set up while the kernel before it in the stream still runs (programmatic
// dependent launch).
#pragma once

#include "kernels/gemm/sm90a/mainloop.cuh"
#include "kernels/gemm/sm90a/store.cuh"

namespace gpubench::sm90a {

template <class S>
__device__ void consume(const Params& p, const Shared<S>& shared, int consumer, std::uint32_t rank,
                        int first, int step, int items) {
  const int thread = static_cast<int>(threadIdx.x) % kWarpgroupThreads;
  const int cluster_size = p.cluster_m * p.cluster_n;
  StorePlace place{consumer, thread};
  PipelineStage<S::kStages> stage;
  Sums<S> sums;
  for (int index = first; index < items; index += step) {
    const Item item = item_at<S>(p, index, rank);
    const auto bias = fetch_bias<S>(p, item.column, thread);
    const int blocks = item.end - item.begin;
    if constexpr (S::kPromote) {
      multiply_promoted<S>(sums, shared, consumer, blocks, cluster_size, stage);
    } else {
      const bool staggers = S::kConsumers == 2 && p.stagger > 0 && index == first;
      if (staggers && consumer == 1) named_barrier(kStaggerBarrier, 2 * kWarpgroupThreads);
      const int signal_after = staggers && consumer == 0 ? min(p.stagger, blocks) : 0;
      multiply<S>(sums, shared, consumer, blocks, cluster_size, signal_after, stage);
    }
    share_bias<S>(p, shared, place, bias);
#pragma unroll
    for (int i = 0; i < S::kProducts; ++i) {
      place.row = item.row + consumer * S::kGroupM + i * kStoreRows;
#pragma unroll
      for (int box = 0; box < S::kWords / S::kStoreWords; ++box) {
        place.column = item.column + box * S::kStoreColumns;
        place.bias_at = shared.bias(consumer) + box * S::kStoreColumns * sizeof(float);
        if (place.row >= p.m || place.column >= p.n) continue;
        std::uint32_t words[S::kStoreWords];
#pragma unroll
        for (int word = 0; word < S::kStoreWords; ++word) {
          words[word] = sums[i][box * S::kStoreWords + word];
        }
        if (p.splits > 1) {
          store_partial<S>(p, place, item.split, words);
        } else {
          store_box<S>(p, shared, place, words);
        }
      }
    }
  }
  if (place.is_issuer()) tma_wait_stores_read<0>();  // the buffers go with the block
}

template <class S>
__global__ void __launch_bounds__(S::kThreads, 1)
    gemm_sm90a_kernel(const __grid_constant__ Params p) {
  extern __shared__ __align__(kSwizzleAtomBytes) std::uint8_t memory[];
  const Shared<S> shared{shared_address(memory)};
  // There is no room to align by hand. The runtime does, but nowhere promises it.
  if (shared.base % kSwizzleAtomBytes != 0) __trap();
  const int cluster_size = p.cluster_m * p.cluster_n;
  const std::uint32_t rank = cluster_rank();
  if (threadIdx.x == 0) {
    tma_prefetch_map(&p.a);
    tma_prefetch_map(&p.b);
    for (int stage = 0; stage < S::kStages; ++stage) {
      mbarrier_init(shared.full(stage), 1);
      const int warps = S::kConsumers * kWarpgroupThreads / kWarpThreads;
      mbarrier_init(shared.empty(stage), static_cast<std::uint32_t>(warps * cluster_size));
    }
    for (int consumer = 0; consumer < S::kConsumers; ++consumer) {
      mbarrier_init(shared.residual(consumer), 1);
    }
    mbarrier_init_fence();
  }
  if (cluster_size > 1) {
    cluster_barrier();  // neighbours send to these barriers, too
  } else {
    __syncthreads();
  }
  wait_for_previous_kernel();
  let_next_kernel_begin();
  const int first = static_cast<int>(blockIdx.x) / cluster_size;
  const int step = static_cast<int>(gridDim.x) / cluster_size;
  const int items = p.order.tiles() * p.splits;
  const int warpgroup = warpgroup_index();
  if (warpgroup == 0) {
    if constexpr (S::kMovesRegisters) give_registers<S::kProducerRegisters>();
    if (threadIdx.x == 0) produce<S>(p, shared, rank, first, step, items);
    __syncwarp();
  } else {
    if constexpr (S::kMovesRegisters) take_registers<S::kConsumerRegisters>();
    consume<S>(p, shared, warpgroup - 1, rank, first, step, items);
  }
  // A block's shared memory has to stay for what its neighbours still send there.
  if (cluster_size > 1) cluster_barrier();
}

/// The table's line for a kernel.
template <class OperandTypes, class TileShape, bool kPromote = false>
Kernel kernel_of() {
  using S = Shape<OperandTypes, TileShape, kPromote>;
  return {S::kTileM,
          S::kTileN,
          S::kStages,
          S::kThreads,
          static_cast<std::size_t>(S::kSharedBytes),
          reinterpret_cast<const void*>(&gemm_sm90a_kernel<S>)};
}

}  // namespace gpubench::sm90a
