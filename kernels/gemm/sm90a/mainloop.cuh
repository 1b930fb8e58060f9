// SPDX-License-Identifier: Apache-2.0
// The two ends of the pipeline: a thread that has stages filled, warpgroups that multiply them.
#pragma once

#include "kernels/common/mbarrier.cuh"
#include "kernels/common/tma.cuh"
#include "kernels/gemm/sm90a/shape.cuh"

namespace gpubench::sm90a {

/// What a block loads of an operand's tile: rows `first` to `end` (multiples of 64 where k isn't
/// contiguous), for all blocks of `blocks` if they are more than one.
struct Part {
  int first, end;
  std::uint16_t blocks;
  bool multicast;
};

template <int kRows>
__device__ Part part_of(int index, int parts, std::uint32_t blocks) {
  const int rows = kRows / parts;
  return {index * rows, (index + 1) * rows, static_cast<std::uint16_t>(blocks), parts > 1};
}

template <int kDepth, bool kKContiguous>
__device__ void load_part(std::uint32_t to, const CUtensorMap* map, int row, int k,
                          const Part& part, std::uint32_t barrier) {
  const auto load = [&](std::uint32_t offset, int column_at, int row_at) {
    if (part.multicast) {
      tma_load_multicast(to + offset, map, column_at, row_at, barrier, part.blocks);
    } else {
      tma_load(to + offset, map, column_at, row_at, barrier);
    }
  };
  if constexpr (kKContiguous) {
    load(static_cast<std::uint32_t>(part.first * kSwizzleRowBytes), k, row + part.first);
  } else {
    // Columns of 64 m or n, `kDepth` rows of 128 bytes each.
#pragma unroll 1
    for (int first = part.first; first < part.end; first += kStoreRows) {
      load(static_cast<std::uint32_t>(first / kStoreRows * kDepth * kSwizzleRowBytes), row + first,
           k);
    }
  }
}

/// Has the residual of a tile brought into L2 while the product is made.
template <class S>
__device__ void prefetch_residual(const Params& p, const Item& item) {
  if (p.epilogue != GemmEpilogue::bias_residual || p.direct_store || p.splits > 1) return;
  for (int row = item.row; row < min(item.row + S::kTileM, p.m); row += kStoreRows) {
    for (int column = item.column; column < min(item.column + S::kTileN, p.n);
         column += S::kStoreColumns) {
      tma_prefetch(&p.extra, column, row);
    }
  }
}

/// Fills the stages of all pieces of this block's cluster; one thread.
template <class S>
__device__ void produce(const Params& p, const Shared<S>& shared, std::uint32_t rank, int first,
                        int step, int items) {
  const int rank_m = static_cast<int>(rank) % p.cluster_m;
  const int rank_n = static_cast<int>(rank) / p.cluster_m;
  // Blocks at the same place along m share A, along n share B. Each loads a part for all.
  std::uint32_t a_blocks = 0, b_blocks = 0;
  for (int i = 0; i < p.cluster_n; ++i) a_blocks |= 1u << (rank_m + p.cluster_m * i);
  for (int i = 0; i < p.cluster_m; ++i) b_blocks |= 1u << (i + p.cluster_m * rank_n);
  const Part a_part = part_of<S::kTileM>(rank_n, p.cluster_n, a_blocks);
  const Part b_part = part_of<S::kTileN>(rank_m, p.cluster_m, b_blocks);
  PipelineStage<S::kStages> stage;
  for (int index = first; index < items; index += step) {
    const Item item = item_at<S>(p, index, rank);
    prefetch_residual<S>(p, item);
    for (int block = item.begin; block < item.end; ++block) {
      mbarrier_wait(shared.empty(stage.index), stage.parity ^ 1);
      const std::uint32_t full = shared.full(stage.index);
      mbarrier_expect(full, S::kStageBytes);
      load_part<S::kDepth, S::kAKContiguous>(shared.a(stage.index), &p.a, item.row,
                                             block * S::kDepth, a_part, full);
      load_part<S::kDepth, S::kBKContiguous>(shared.b(stage.index), &p.b, item.column,
                                             block * S::kDepth, b_part, full);
      stage.advance();
    }
  }
}

/// 8 rows of 128 bytes follow each other; with contiguous k the width in one descriptor is the
/// swizzle's, so that the leading offset is not read.
template <class S, bool kKContiguous>
__device__ std::uint64_t operand_descriptor(std::uint32_t address) {
  constexpr int kLeading = kKContiguous ? 16 : S::kDepth * kSwizzleRowBytes;
  return wgmma_descriptor(address, kLeading, kSwizzleAtomBytes);
}

/// Descriptors count in 16 bytes: from one wgmma's k to the next within a stage.
template <bool kKContiguous>
constexpr std::uint64_t kDescriptorStep = (kKContiguous ? 32 : 16 * kSwizzleRowBytes) / 16;

/// One product of 64 rows with a stage, as four wgmma.
template <class S>
__device__ void multiply_stage(std::uint32_t (&sums)[S::kWords], std::uint32_t a, std::uint32_t b,
                               bool accumulate) {
  constexpr int kSteps = kStageDepthBytes / 32;
  const std::uint64_t a_descriptor = operand_descriptor<S, S::kAKContiguous>(a);
  const std::uint64_t b_descriptor = operand_descriptor<S, S::kBKContiguous>(b);
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    wgmma<typename S::Mma>(sums, a_descriptor + step * kDescriptorStep<S::kAKContiguous>,
                           b_descriptor + step * kDescriptorStep<S::kBKContiguous>,
                           step > 0 || accumulate);
  }
}

/// Of all named barriers, after those of the consumers (store.cuh).
constexpr int kStaggerBarrier = 8;

template <class S>
using Sums = std::uint32_t[S::kProducts][S::kWords];

/// Gives a stage back to the producers of all blocks that fill it: one lane for each.
template <class S>
__device__ void release(const Shared<S>& shared, int stage, int cluster_size) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpThreads;
  if (lane < cluster_size) mbarrier_arrive(shared.empty(stage), static_cast<std::uint32_t>(lane));
}

/// One stage's products are in flight while the next stage is waited for. After `signal_after`
/// stages the other consumer may begin; 0: nobody waits.
template <class S>
__device__ void multiply(Sums<S>& sums, const Shared<S>& shared, int consumer, int blocks,
                         int cluster_size, int signal_after, PipelineStage<S::kStages>& stage) {
  const std::uint32_t a_offset =
      static_cast<std::uint32_t>(consumer * S::kProducts * S::kColumnBytes);
  int previous = 0;
  for (int block = 0; block < blocks; ++block) {
    mbarrier_wait(shared.full(stage.index), stage.parity);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < S::kProducts; ++i) {
      multiply_stage<S>(sums[i], shared.a(stage.index) + a_offset + i * S::kColumnBytes,
                        shared.b(stage.index), block > 0);
    }
    wgmma_commit();
    if (block + 1 == signal_after) named_barrier_arrive(kStaggerBarrier, 2 * kWarpgroupThreads);
    wgmma_wait<1>();
    if (block > 0) release(shared, previous, cluster_size);
    previous = stage.index;
    stage.advance();
  }
  wgmma_wait<0>();
#pragma unroll
  for (int i = 0; i < S::kProducts; ++i) wgmma_pin(sums[i]);
  release(shared, previous, cluster_size);
}

/// FP8: the tensor core adds 128 products in its short registers, these add the sums in FP32. The
/// other consumer's products run meanwhile.
template <class S>
__device__ void multiply_promoted(Sums<S>& sums, const Shared<S>& shared, int consumer, int blocks,
                                  int cluster_size, PipelineStage<S::kStages>& stage) {
  const std::uint32_t a_offset =
      static_cast<std::uint32_t>(consumer * S::kProducts * S::kColumnBytes);
  std::uint32_t part[S::kWords];
#pragma unroll
  for (int i = 0; i < S::kProducts; ++i) {
#pragma unroll
    for (int word = 0; word < S::kWords; ++word) sums[i][word] = 0;
  }
  for (int block = 0; block < blocks; ++block) {
    mbarrier_wait(shared.full(stage.index), stage.parity);
#pragma unroll
    for (int i = 0; i < S::kProducts; ++i) {
      wgmma_pin(part);
      wgmma_fence();
      multiply_stage<S>(part, shared.a(stage.index) + a_offset + i * S::kColumnBytes,
                        shared.b(stage.index), false);
      wgmma_commit();
      wgmma_wait<0>();
      wgmma_pin(part);
      if (i == S::kProducts - 1) release(shared, stage.index, cluster_size);
#pragma unroll
      for (int word = 0; word < S::kWords; ++word) {
        sums[i][word] =
            __float_as_uint(__uint_as_float(sums[i][word]) + __uint_as_float(part[word]));
      }
    }
    stage.advance();
  }
}

}  // namespace gpubench::sm90a
