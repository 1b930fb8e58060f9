// SPDX-License-Identifier: Apache-2.0
// Device code of the reference attention: a block's two blocked products in double.
// The element type is looked at while staging, not a template parameter: a staged element is used
// 64 times, and one kernel compiles in a tenth of the time of nine.
#pragma once

#include <cstdint>

#include "kernels/attention_reference/attention_reference.h"
#include "kernels/common/convert.cuh"

namespace gpubench::attention_reference {

constexpr int kTile = 64;      // rows and columns of a tile of weights
constexpr int kSide = 16;      // threads along each side of a block
constexpr int kPerThread = 4;  // rows, and columns, of a tile per thread
constexpr int kThreads = kSide * kSide;
constexpr int kChunk = 32;         // depth of one step of either product
constexpr int kPitch = kTile + 1;  // odd, so that neither a column read nor a column write collides
constexpr int kMaxDim = static_cast<int>(kAttentionReferenceMaxHeadDim);

struct Problem {
  std::int64_t heads, seq, head_dim;
  std::int64_t tiles;  // ceil(seq / kTile)
  double scale;
  bool causal;
  Dtype dtype;  // of the inputs
};

/// Which 64 rows of which batch and head a block owns.
struct Place {
  std::int64_t first_row;
  std::int64_t head;    // batch * heads + head: row of lse and delta
  std::int64_t offset;  // of element [batch][0][head][0]
  std::int64_t stride;  // elements from one position to the next
};

__device__ inline Place place_of_block(const Problem& problem) {
  Place place;
  place.first_row = static_cast<std::int64_t>(blockIdx.x) % problem.tiles * kTile;
  place.head = static_cast<std::int64_t>(blockIdx.x) / problem.tiles;
  place.stride = problem.heads * problem.head_dim;
  place.offset = place.head / problem.heads * problem.seq * place.stride +
                 place.head % problem.heads * problem.head_dim;
  return place;
}

__device__ inline double load(const void* from, Dtype dtype, std::int64_t at) {
  if (dtype == Dtype::bf16) return to_double(static_cast<const __nv_bfloat16*>(from)[at]);
  if (dtype == Dtype::fp16) return to_double(static_cast<const __half*>(from)[at]);
  return to_double(static_cast<const float*>(from)[at]);
}

__device__ inline void store(void* to, Dtype dtype, std::int64_t at, double value) {
  const float rounded = static_cast<float>(value);
  if (dtype == Dtype::bf16) {
    static_cast<__nv_bfloat16*>(to)[at] = from_float<__nv_bfloat16>(rounded);
  } else if (dtype == Dtype::fp16) {
    static_cast<__half*>(to)[at] = from_float<__half>(rounded);
  } else {
    static_cast<float*>(to)[at] = rounded;
  }
}

/// Shared memory of a block.
struct Stage {
  double inputs[2][kChunk][kPitch];  // [depth][row] of both factors, or [column][depth] of values
  double weights[kTile][kPitch];     // [column][row]
};
static_assert(2 * kPitch >= kMaxDim, "the values of a chunk fit where the factors were");

/// Transposes kChunk elements of each of 64 rows into shared memory; zero outside the matrix.
__device__ inline void load_transposed(double (*to)[kPitch], const void* from,
                                       const Problem& problem, const Place& place,
                                       std::int64_t first_row, int first_depth) {
#pragma unroll
  for (int step = 0; step < kTile * kChunk / kThreads; ++step) {
    const int i = step * kThreads + static_cast<int>(threadIdx.x);
    const int row = i / kChunk, depth = i % kChunk;
    const bool inside = first_row + row < problem.seq && first_depth + depth < problem.head_dim;
    const std::int64_t at = place.offset + (first_row + row) * place.stride + first_depth + depth;
    to[depth][row] = inside ? load(from, problem.dtype, at) : 0.0;
  }
}

/// products[i][j] = rows[ty + 16 i] . columns[tx + 16 j] over head_dim.
__device__ inline void multiply_tile(double (&products)[kPerThread][kPerThread], Stage& stage,
                                     const void* rows, const void* columns,
                                     std::int64_t first_column, const Problem& problem,
                                     const Place& place) {
  const int tx = static_cast<int>(threadIdx.x) % kSide, ty = static_cast<int>(threadIdx.x) / kSide;
  for (auto& row : products) {
    for (double& product : row) product = 0;
  }
  for (int depth = 0; depth < problem.head_dim; depth += kChunk) {
    __syncthreads();  // the last readers of the stage are done
    load_transposed(stage.inputs[0], rows, problem, place, place.first_row, depth);
    load_transposed(stage.inputs[1], columns, problem, place, first_column, depth);
    __syncthreads();
#pragma unroll 4
    for (int d = 0; d < kChunk; ++d) {
      double a[kPerThread], b[kPerThread];
#pragma unroll
      for (int i = 0; i < kPerThread; ++i) {
        a[i] = stage.inputs[0][d][ty + kSide * i];
        b[i] = stage.inputs[1][d][tx + kSide * i];
      }
#pragma unroll
      for (int i = 0; i < kPerThread; ++i) {
#pragma unroll
        for (int j = 0; j < kPerThread; ++j) products[i][j] += a[i] * b[j];
      }
    }
  }
}

/// sums[i][j] += sum over 64 columns c of weights[c][ty + 16 i] * values[c][tx + 16 j].
template <int kDims>
__device__ void accumulate_tile(double (&sums)[kPerThread][kDims], Stage& stage, const void* values,
                                std::int64_t first_column, const Problem& problem,
                                const Place& place) {
  const int tx = static_cast<int>(threadIdx.x) % kSide, ty = static_cast<int>(threadIdx.x) / kSide;
  constexpr int kWidth = kSide * kDims;
  auto* staged = reinterpret_cast<double(*)[kWidth]>(&stage.inputs[0][0][0]);
  for (int chunk = 0; chunk < kTile; chunk += kChunk) {
    __syncthreads();
#pragma unroll 8
    for (int step = 0; step < kChunk * kWidth / kThreads; ++step) {
      const int i = step * kThreads + static_cast<int>(threadIdx.x);
      const int column = i / kWidth, depth = i % kWidth;
      const std::int64_t position = first_column + chunk + column;
      const bool inside = position < problem.seq && depth < problem.head_dim;
      const std::int64_t at = place.offset + position * place.stride + depth;
      staged[column][depth] = inside ? load(values, problem.dtype, at) : 0.0;
    }
    __syncthreads();
#pragma unroll 2
    for (int c = 0; c < kChunk; ++c) {
      double weight[kPerThread], value[kDims];
#pragma unroll
      for (int i = 0; i < kPerThread; ++i) weight[i] = stage.weights[chunk + c][ty + kSide * i];
#pragma unroll
      for (int j = 0; j < kDims; ++j) value[j] = staged[c][tx + kSide * j];
#pragma unroll
      for (int i = 0; i < kPerThread; ++i) {
#pragma unroll
        for (int j = 0; j < kDims; ++j) sums[i][j] += weight[i] * value[j];
      }
    }
  }
}

}  // namespace gpubench::attention_reference
