// SPDX-License-Identifier: Apache-2.0
// Types and tiles of a wgmma kernel, and where its shared memory lies.
//
//   stage 0: A tile, B tile | stage 1 ... | per consumer two store buffers | per consumer the
//   tile's bias in FP32 | barriers: full[stage], empty[stage], residual[consumer]
//
// A tile with contiguous k is rows (m or n) of 128 bytes of k. With contiguous m or n it is columns
// of 64 m or n, each kDepth rows of 128 bytes. Either way 64 rows of A are 8 KiB.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kernels/common/swizzle.cuh"
#include "kernels/common/warp_roles.cuh"
#include "kernels/common/wgmma.cuh"
#include "kernels/gemm/sm90a/params.h"

namespace gpubench::sm90a {

/// Operands of `kBytes`, results of `Out`.
template <class Instruction, int kBytes, class OutType, bool kAK = true, bool kBK = true>
struct Operands {
  using Mma = Instruction;
  using Out = OutType;
  static constexpr int kElementBytes = kBytes;
  static constexpr bool kAKContiguous = kAK, kBKContiguous = kBK;
};

/// `kConsumerGroups` warpgroups share the tile's rows.
template <int kM, int kN, int kDeep, int kConsumerGroups>
struct Tile {
  static constexpr int kTileM = kM, kTileN = kN, kStages = kDeep, kConsumers = kConsumerGroups;
};

template <class OperandTypes, class TileShape, bool kAddInFp32>
struct Shape : OperandTypes, TileShape {
  using typename OperandTypes::Out;
  static constexpr bool kPromote = kAddInFp32;

  static constexpr int kDepth = kStageDepthBytes / OperandTypes::kElementBytes;  // in k
  static constexpr int kGroupM = TileShape::kTileM / TileShape::kConsumers;
  static constexpr int kProducts = kGroupM / kStoreRows;  // wgmma rows of a consumer
  static constexpr int kWords = TileShape::kTileN / 2;    // accumulators of one of them, per thread
  static_assert(kGroupM % kStoreRows == 0);

  static constexpr int kColumnBytes = kStoreRows * kSwizzleRowBytes;  // 64 m or n, a stage deep
  static constexpr int kABytes = TileShape::kTileM * kStageDepthBytes;
  static constexpr int kBBytes = TileShape::kTileN * kStageDepthBytes;
  static constexpr int kStageBytes = kABytes + kBBytes;

  static constexpr int kBufferBytes = kStoreRows * kSwizzleRowBytes;
  static constexpr int kBuffersAt = TileShape::kStages * kStageBytes;
  static constexpr int kBiasAt = kBuffersAt + 2 * TileShape::kConsumers * kBufferBytes;
  static constexpr int kBiasBytes = TileShape::kTileN * static_cast<int>(sizeof(float));
  static constexpr int kBarriersAt = kBiasAt + TileShape::kConsumers * kBiasBytes;
  static constexpr int kBarriers = 2 * TileShape::kStages + TileShape::kConsumers;
  static constexpr int kSharedBytes =
      kBarriersAt + kBarriers * static_cast<int>(sizeof(std::uint64_t));
  static_assert(kSharedBytes <= 227 * 1024);

  static constexpr int kThreads = kWarpgroupThreads * (1 + TileShape::kConsumers);
  /// 64 Ki registers: 168 each at the start, then 40 for the producer and 232 for two consumers.
  static constexpr bool kMovesRegisters = TileShape::kConsumers == 2;
  static constexpr int kProducerRegisters = 40, kConsumerRegisters = 232;

  /// One store: 128 bytes of columns.
  static constexpr int kStoreColumns = kSwizzleRowBytes / static_cast<int>(sizeof(Out));
  static constexpr int kStoreWords = kStoreColumns / 2;  // accumulators, per thread
};

/// Addresses of a block's shared memory.
template <class S>
struct Shared {
  std::uint32_t base;
  __device__ std::uint32_t a(int stage) const { return base + stage * S::kStageBytes; }
  __device__ std::uint32_t b(int stage) const { return a(stage) + S::kABytes; }
  __device__ std::uint32_t buffer(int consumer, int which) const {
    return base + S::kBuffersAt + (2 * consumer + which) * S::kBufferBytes;
  }
  __device__ std::uint32_t bias(int consumer) const {
    return base + S::kBiasAt + consumer * S::kBiasBytes;
  }
  __device__ std::uint32_t full(int stage) const { return base + S::kBarriersAt + 8 * stage; }
  __device__ std::uint32_t empty(int stage) const { return full(S::kStages + stage); }
  __device__ std::uint32_t residual(int consumer) const { return full(2 * S::kStages + consumer); }
};

/// A piece of work: a tile of C and a range of blocks in k.
struct Item {
  int row, column;  ///< first of the tile
  int begin, end;   ///< blocks of k
  int split;
};

/// Piece `index` of the cluster's list; this block's tile in it.
template <class S>
__device__ Item item_at(const Params& p, int index, std::uint32_t rank) {
  const int tiles = p.order.tiles();
  const int split = index / tiles;
  const TilePlace place = p.order.place(index - split * tiles);
  const int rank_m = static_cast<int>(rank) % p.cluster_m;
  const int rank_n = static_cast<int>(rank) / p.cluster_m;
  // 64 bits: blocks times splits may pass 2^31.
  const auto bound = [&](int part) {
    return static_cast<int>(static_cast<std::int64_t>(p.k_blocks) * part / p.splits);
  };
  return {(place.row * p.cluster_m + rank_m) * S::kTileM,
          (place.column * p.cluster_n + rank_n) * S::kTileN, bound(split), bound(split + 1), split};
}

}  // namespace gpubench::sm90a
