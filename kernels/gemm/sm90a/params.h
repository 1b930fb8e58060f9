// SPDX-License-Identifier: Apache-2.0
// What the wgmma kernels are passed, and the table of the kernels that there are.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/common/tile_order.h"
#include "kernels/gemm/gemm.h"

namespace gpubench::sm90a {

/// Depth of a stage: one row of the 128-byte swizzle.
constexpr int kStageDepthBytes = 128;
/// The epilogue's boxes: rows of a warpgroup's product by 128 bytes.
constexpr int kStoreRows = 64;

struct Params {
  CUtensorMap a, b, c;
  CUtensorMap extra;  ///< the aux matrix or the residual
  const void* bias;
  const void* residual;
  void* aux_out;
  void* c_out;
  std::uint32_t* partials;  ///< [splits][m][partial_pitch] FP32 or INT32 where splits > 1
  std::int64_t partial_pitch;
  int m, n;
  int k_blocks;              ///< stages' depths in k, the last one perhaps in part
  int splits;                ///< parts of k, each at least one block
  int cluster_m, cluster_n;  ///< blocks of a cluster: neighbours that share B, that share A
  TileOrder order;           ///< of the clusters' tiles
  int stagger;               ///< stages by which the first consumer is ahead of the second, 0 to 2
  float scale;
  GemmEpilogue epilogue;
  bool direct_store;  ///< rows of C don't begin at multiples of 16 bytes: no copy engine
  bool short_gelu;
};

struct Kernel {
  int tile_m, tile_n, stages, threads;
  std::size_t shared_bytes;
  const void* function;
};

/// Kernels for operands in this layout, the same tiles for every layout that is offered.
std::span<const Kernel> bf16_kernels(bool a_k_contiguous, bool b_k_contiguous);
std::span<const Kernel> fp16_kernels(bool a_k_contiguous, bool b_k_contiguous);
std::span<const Kernel> tf32_kernels();
std::span<const Kernel> fp8_kernels(bool a_is_e5m2, bool promote);
std::span<const Kernel> int8_kernels();

/// C from the partial sums of a split k, in the order of the splits.
void launch_split_sum(void* stream, const Params& params, GemmType type);

/// Rows of `columns` elements, one after the other, to rows that begin `pitch_bytes` apart.
void launch_pad_rows(void* stream, const void* from, void* to, std::int64_t rows,
                     std::int64_t columns, int element_bytes, std::int64_t pitch_bytes);

}  // namespace gpubench::sm90a
