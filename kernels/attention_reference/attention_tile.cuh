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
constexpr int kSlice = 128;        // elements of head_dim that a block accumulates

struct Problem {
  std::int64_t heads, kv_heads, seq, seq_kv, head_dim;
  double scale;
  bool causal;
  std::int64_t diagonal, window;
  Dtype dtype;  // of the inputs
};

/// One batch and head of a [batch][positions][heads][head_dim] tensor.
struct Side {
  std::int64_t count;   // positions
  std::int64_t offset;  // of element [batch][0][head][0]
  std::int64_t stride;  // elements from one position to the next
};

__device__ inline Side side_of(std::int64_t index, std::int64_t heads, std::int64_t positions,
                               std::int64_t head_dim) {
  Side side;
  side.count = positions;
  side.stride = heads * head_dim;
  side.offset = index / heads * positions * side.stride + index % heads * head_dim;
  return side;
}

/// Of Q, O and their gradients; `head`: batch * heads + head, also the row of lse and delta.
__device__ inline Side query_side(const Problem& problem, std::int64_t head) {
  return side_of(head, problem.heads, problem.seq, problem.head_dim);
}

/// Of K, V and their gradients; `key_head`: batch * kv_heads + head.
__device__ inline Side key_side(const Problem& problem, std::int64_t key_head) {
  return side_of(key_head, problem.kv_heads, problem.seq_kv, problem.head_dim);
}

__device__ inline bool masked(const Problem& problem, std::int64_t query, std::int64_t key) {
  if (query >= problem.seq || key >= problem.seq_kv) return true;
  if (!problem.causal) return false;
  const std::int64_t behind = query + problem.diagonal - key;
  return behind < 0 || (problem.window > 0 && behind >= problem.window);
}

/// Positions [begin, end) of the other side, begin a multiple of kTile, that any of the kTile rows
/// from first_row may see or be seen by: only a saving, masked() decides.
struct Span {
  std::int64_t begin, end;
};

__device__ inline Span span_of(std::int64_t first, std::int64_t end, std::int64_t count) {
  Span span;
  span.begin = first > 0 ? first / kTile * kTile : 0;
  span.end = end < count ? end : count;
  return span;
}

__device__ inline Span keys_of_rows(const Problem& problem, std::int64_t first_query) {
  if (!problem.causal) return {0, problem.seq_kv};
  const std::int64_t first = first_query + problem.diagonal;
  return span_of(problem.window > 0 ? first - problem.window + 1 : 0, first + kTile,
                 problem.seq_kv);
}

__device__ inline Span queries_of_rows(const Problem& problem, std::int64_t first_key) {
  if (!problem.causal) return {0, problem.seq};
  const std::int64_t first = first_key - problem.diagonal;
  return span_of(first, problem.window > 0 ? first + kTile + problem.window : problem.seq,
                 problem.seq);
}

__device__ inline double load(const void* from, Dtype dtype, std::int64_t at) {
  if (dtype == Dtype::bf16) return to_double(static_cast<const __nv_bfloat16*>(from)[at]);
  if (dtype == Dtype::fp16) return to_double(static_cast<const __half*>(from)[at]);
  if (dtype == Dtype::fp8_e4m3) return to_double(static_cast<const __nv_fp8_e4m3*>(from)[at]);
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
static_assert(2 * kPitch >= kSlice, "the values of a chunk fit where the factors were");

/// Transposes kChunk elements of each of 64 rows into shared memory; zero outside the matrix.
__device__ inline void load_transposed(double (*to)[kPitch], const void* from,
                                       const Problem& problem, const Side& side,
                                       std::int64_t first_row, int first_depth) {
#pragma unroll
  for (int step = 0; step < kTile * kChunk / kThreads; ++step) {
    const int i = step * kThreads + static_cast<int>(threadIdx.x);
    const int row = i / kChunk, depth = i % kChunk;
    const bool inside = first_row + row < side.count && first_depth + depth < problem.head_dim;
    const std::int64_t at = side.offset + (first_row + row) * side.stride + first_depth + depth;
    to[depth][row] = inside ? load(from, problem.dtype, at) : 0.0;
  }
}

/// A tile's place: rows from first_row of one side, columns from first_column of the other.
struct Tile {
  Side rows, columns;
  std::int64_t first_row, first_column;
};

/// products[i][j] = rows[ty + 16 i] . columns[tx + 16 j] over head_dim.
__device__ inline void multiply_tile(double (&products)[kPerThread][kPerThread], Stage& stage,
                                     const void* rows, const void* columns, const Tile& tile,
                                     const Problem& problem) {
  const int tx = static_cast<int>(threadIdx.x) % kSide, ty = static_cast<int>(threadIdx.x) / kSide;
  for (auto& row : products) {
    for (double& product : row) product = 0;
  }
  for (int depth = 0; depth < problem.head_dim; depth += kChunk) {
    __syncthreads();  // the last readers of the stage are done
    load_transposed(stage.inputs[0], rows, problem, tile.rows, tile.first_row, depth);
    load_transposed(stage.inputs[1], columns, problem, tile.columns, tile.first_column, depth);
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

/// sums[i][j] += sum over 64 columns c of weights[c][ty + 16 i] * values[c][first_depth + tx + 16
/// j].
template <int kDims>
__device__ void accumulate_tile(double (&sums)[kPerThread][kDims], Stage& stage, const void* values,
                                std::int64_t first_depth, const Tile& tile,
                                const Problem& problem) {
  const int tx = static_cast<int>(threadIdx.x) % kSide, ty = static_cast<int>(threadIdx.x) / kSide;
  constexpr int kWidth = kSide * kDims;
  auto* staged = reinterpret_cast<double(*)[kWidth]>(&stage.inputs[0][0][0]);
  for (int chunk = 0; chunk < kTile; chunk += kChunk) {
    __syncthreads();
#pragma unroll 8
    for (int step = 0; step < kChunk * kWidth / kThreads; ++step) {
      const int i = step * kThreads + static_cast<int>(threadIdx.x);
      const int column = i / kWidth;
      const std::int64_t depth = first_depth + i % kWidth;
      const std::int64_t position = tile.first_column + chunk + column;
      const bool inside = position < tile.columns.count && depth < problem.head_dim;
      const std::int64_t at = tile.columns.offset + position * tile.columns.stride + depth;
      staged[column][i % kWidth] = inside ? load(values, problem.dtype, at) : 0.0;
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
