// SPDX-License-Identifier: Apache-2.0
// A block of 16 x 16 threads owns 64 rows of one output, up to 128 elements of each, and walks over
// 64 columns of weights at a time: first the weights (a product over head_dim), then their product
// with the rows of another operand. Rows of keys walk over the queries of every head that shares
// them. The four outputs differ in the weights only, so one kernel makes them all; every sum runs
// in double and in a fixed order. The element type is looked at while staging, not a template
// parameter: a tile is used 64 times, and one kernel compiles in a tenth of the time of nine.
#include <cmath>
#include <string>

#include "gpubench/error.h"
#include "kernels/attention_reference/attention_reference.h"
#include "kernels/attention_reference/attention_tile.cuh"
#include "kernels/common/launch.cuh"

namespace gpubench {
namespace {

using attention_reference::accumulate_tile;
using attention_reference::key_side;
using attention_reference::keys_of_rows;
using attention_reference::kPerThread;
using attention_reference::kSide;
using attention_reference::kSlice;
using attention_reference::kThreads;
using attention_reference::kTile;
using attention_reference::load;
using attention_reference::masked;
using attention_reference::multiply_tile;
using attention_reference::Problem;
using attention_reference::queries_of_rows;
using attention_reference::query_side;
using attention_reference::Side;
using attention_reference::Span;
using attention_reference::Stage;
using attention_reference::store;
using attention_reference::Tile;

constexpr int kWarp = 32;

__host__ __device__ std::int64_t tiles_of(std::int64_t positions) {
  return (positions + kTile - 1) / kTile;
}

/// The head of keys that a head of queries uses: heads that share one follow one another.
__device__ std::int64_t key_head_of(const Problem& problem, std::int64_t head) {
  return head / (problem.heads / problem.kv_heads);
}

/// Log-sum-exp of the scaled scores of each query, in double and, where asked for, in FP32.
__global__ void __launch_bounds__(kThreads)
    lse_kernel(const void* q, const void* k, double* lse, float* lse_out, Problem problem) {
  extern __shared__ double shared[];
  Stage& stage = *reinterpret_cast<Stage*>(shared);
  const std::int64_t tiles = tiles_of(problem.seq);
  const std::int64_t head = static_cast<std::int64_t>(blockIdx.x) / tiles;
  Tile tile;
  tile.rows = query_side(problem, head);
  tile.columns = key_side(problem, key_head_of(problem, head));
  tile.first_row = static_cast<std::int64_t>(blockIdx.x) % tiles * kTile;
  const int tx = static_cast<int>(threadIdx.x) % kSide, ty = static_cast<int>(threadIdx.x) / kSide;
  double largest[kPerThread], sum[kPerThread];
#pragma unroll
  for (int i = 0; i < kPerThread; ++i) {
    largest[i] = -INFINITY;
    sum[i] = 0;
  }
  const Span keys = keys_of_rows(problem, tile.first_row);
  for (tile.first_column = keys.begin; tile.first_column < keys.end; tile.first_column += kTile) {
    double scores[kPerThread][kPerThread];
    multiply_tile(scores, stage, q, k, tile, problem);
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
#pragma unroll
      for (int j = 0; j < kPerThread; ++j) {
        const std::int64_t query = tile.first_row + ty + kSide * i;
        if (masked(problem, query, tile.first_column + tx + kSide * j)) continue;
        const double score = problem.scale * scores[i][j];
        const double larger = fmax(largest[i], score);
        sum[i] = sum[i] * exp(largest[i] - larger) + exp(score - larger);
        largest[i] = larger;
      }
    }
  }
  // The 16 threads of a row are the lanes of half a warp.
#pragma unroll
  for (int i = 0; i < kPerThread; ++i) {
    double row_largest = largest[i];
    for (int lane = kSide / 2; lane > 0; lane /= 2) {
      row_largest = fmax(row_largest, __shfl_xor_sync(0xffffffffu, row_largest, lane));
    }
    // Where a thread saw only masked columns, -inf - -inf would be NaN.
    double row_sum = sum[i] == 0 ? 0 : sum[i] * exp(largest[i] - row_largest);
    for (int lane = kSide / 2; lane > 0; lane /= 2) {
      row_sum += __shfl_xor_sync(0xffffffffu, row_sum, lane);
    }
    const std::int64_t row = tile.first_row + ty + kSide * i;
    if (tx == 0 && row < problem.seq) {
      const double value = row_largest + log(row_sum);
      lse[head * problem.seq + row] = value;
      if (lse_out != nullptr) lse_out[head * problem.seq + row] = static_cast<float>(value);
    }
  }
}

/// delta = rowsum(dO * O) of each query: one warp per row.
__global__ void __launch_bounds__(kThreads)
    delta_kernel(const void* out, const void* d_out, double* delta, std::int64_t rows,
                 Problem problem) {
  const std::int64_t row = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kWarp;
  if (row >= rows) return;  // a whole warp at once
  const Side side = query_side(problem, row / problem.seq);
  const std::int64_t at = side.offset + row % problem.seq * side.stride;
  double sum = 0;
  for (std::int64_t d = threadIdx.x % kWarp; d < problem.head_dim; d += kWarp) {
    sum += load(out, problem.dtype, at + d) * load(d_out, problem.dtype, at + d);
  }
  for (int lane = kWarp / 2; lane > 0; lane /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lane);
  if (threadIdx.x % kWarp == 0) delta[row] = sum;
}

/// An output as sum over columns of weight(row, column) * values[column].
struct Formula {
  bool rows_are_queries;
  const void *rows, *columns;      // the scores' factors: Q and K, or K and Q
  const void *d_rows, *d_columns;  // those of dP: dO and V, or V and dO; null: the weights are P
  const void* values;
  const double *lse, *delta;
  double scale;
};

/// P, or dS = P (dP - delta), of a tile into stage.weights. `head`: of the queries.
__device__ void weigh_tile(Stage& stage, const Formula& formula, const Problem& problem,
                           const Tile& tile, std::int64_t head) {
  const int tx = static_cast<int>(threadIdx.x) % kSide, ty = static_cast<int>(threadIdx.x) / kSide;
  const std::int64_t first_lse = head * problem.seq;
  double weights[kPerThread][kPerThread];
  multiply_tile(weights, stage, formula.rows, formula.columns, tile, problem);
#pragma unroll
  for (int i = 0; i < kPerThread; ++i) {
#pragma unroll
    for (int j = 0; j < kPerThread; ++j) {
      const std::int64_t row = tile.first_row + ty + kSide * i;
      const std::int64_t column = tile.first_column + tx + kSide * j;
      const std::int64_t query = formula.rows_are_queries ? row : column;
      const std::int64_t key = formula.rows_are_queries ? column : row;
      weights[i][j] = masked(problem, query, key)
                          ? 0.0
                          : exp(problem.scale * weights[i][j] - formula.lse[first_lse + query]);
    }
  }
  if (formula.d_rows != nullptr) {
    double gradients[kPerThread][kPerThread];
    multiply_tile(gradients, stage, formula.d_rows, formula.d_columns, tile, problem);
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
#pragma unroll
      for (int j = 0; j < kPerThread; ++j) {
        const std::int64_t query = formula.rows_are_queries ? tile.first_row + ty + kSide * i
                                                            : tile.first_column + tx + kSide * j;
        const double delta = query < problem.seq ? formula.delta[first_lse + query] : 0.0;
        weights[i][j] *= gradients[i][j] - delta;
      }
    }
  }
  // Every reader of the previous weights has passed the first barrier of multiply_tile.
#pragma unroll
  for (int i = 0; i < kPerThread; ++i) {
#pragma unroll
    for (int j = 0; j < kPerThread; ++j) {
      stage.weights[tx + kSide * j][ty + kSide * i] = weights[i][j];
    }
  }
}

/// The block's slice of head_dim is blockIdx.y; kDims * 16 is at least the slice, or the head_dim.
template <int kDims>
__global__ void __launch_bounds__(kThreads)
    output_kernel(Formula formula, void* out, Dtype out_dtype, Problem problem) {
  extern __shared__ double shared[];
  Stage& stage = *reinterpret_cast<Stage*>(shared);
  const bool by_query = formula.rows_are_queries;
  const std::int64_t tiles = tiles_of(by_query ? problem.seq : problem.seq_kv);
  const std::int64_t owner = static_cast<std::int64_t>(blockIdx.x) / tiles;  // head or key head
  const std::int64_t first_depth = static_cast<std::int64_t>(blockIdx.y) * kSlice;
  const std::int64_t group = problem.heads / problem.kv_heads;
  Tile tile;
  tile.first_row = static_cast<std::int64_t>(blockIdx.x) % tiles * kTile;
  tile.rows = by_query ? query_side(problem, owner) : key_side(problem, owner);
  const Span span =
      by_query ? keys_of_rows(problem, tile.first_row) : queries_of_rows(problem, tile.first_row);
  double sums[kPerThread][kDims] = {};
  const std::int64_t first_head = by_query ? owner : owner * group;
  for (std::int64_t head = first_head; head < first_head + (by_query ? 1 : group); ++head) {
    tile.columns =
        by_query ? key_side(problem, key_head_of(problem, head)) : query_side(problem, head);
    for (tile.first_column = span.begin; tile.first_column < span.end; tile.first_column += kTile) {
      weigh_tile(stage, formula, problem, tile, head);
      accumulate_tile<kDims>(sums, stage, formula.values, first_depth, tile, problem);
    }
  }
  const int tx = static_cast<int>(threadIdx.x) % kSide, ty = static_cast<int>(threadIdx.x) / kSide;
#pragma unroll
  for (int i = 0; i < kPerThread; ++i) {
    const std::int64_t row = tile.first_row + ty + kSide * i;
#pragma unroll
    for (int j = 0; j < kDims; ++j) {
      const std::int64_t depth = first_depth + tx + kSide * j;
      if (row < tile.rows.count && depth < problem.head_dim) {
        store(out, out_dtype, tile.rows.offset + row * tile.rows.stride + depth,
              formula.scale * sums[i][j]);
      }
    }
  }
}

void require_input_type(Dtype dtype) {
  if (dtype == Dtype::fp32 || dtype == Dtype::fp16 || dtype == Dtype::bf16) return;
  if (dtype == Dtype::fp8_e4m3) return;
  throw Unsupported("E_UNSUPPORTED_DTYPE", "the reference attention reads fp32, fp16, bf16, fp8");
}

void require_output_type(Dtype dtype) {
  if (dtype == Dtype::fp32 || dtype == Dtype::fp16 || dtype == Dtype::bf16) return;
  throw Unsupported("E_UNSUPPORTED_DTYPE", "the reference attention writes fp32, fp16 or bf16");
}

/// Rows of the softmax: batch * heads * seq.
std::int64_t rows_of(const AttentionReferenceShape& shape) {
  return shape.batch * shape.heads * shape.seq;
}

/// Checks a shape and launches the kernels over it.
class Launcher {
 public:
  Launcher(void* stream, const AttentionReferenceShape& shape)
      : stream_(native_stream(stream)), rows_(rows_of(shape)) {
    require_input_type(shape.dtype);
    problem_ = {.heads = shape.heads,
                .kv_heads = shape.kv_heads,
                .seq = shape.seq,
                .seq_kv = shape.seq_kv,
                .head_dim = shape.head_dim,
                .scale = shape.scale,
                .causal = shape.causal,
                .diagonal = shape.diagonal,
                .window = shape.window,
                .dtype = shape.dtype};
    const std::int64_t query_blocks = tiles_of(shape.seq) * shape.batch * shape.heads;
    const std::int64_t key_blocks = tiles_of(shape.seq_kv) * shape.batch * shape.kv_heads;
    const std::int64_t slices = (shape.head_dim + kSlice - 1) / kSlice;
    if (query_blocks > INT32_MAX || key_blocks > INT32_MAX || slices > kMostSlices ||
        rows_ / kRowsPerDeltaBlock >= INT32_MAX) {
      throw Unsupported("E_UNSUPPORTED_SHAPE",
                        "batch * heads * seq or head_dim is too large for the reference attention");
    }
    query_blocks_ = static_cast<unsigned>(query_blocks);
    key_blocks_ = static_cast<unsigned>(key_blocks);
    slices_ = static_cast<unsigned>(slices);
  }

  double scale() const { return problem_.scale; }

  void lse(const void* q, const void* k, double* lse, float* lse_out) const {
    allow_stage(lse_kernel);
    lse_kernel<<<query_blocks_, kThreads, sizeof(Stage), stream_>>>(q, k, lse, lse_out, problem_);
    check_launch("attention reference lse");
  }

  void delta(const void* out, const void* d_out, double* delta) const {
    const auto blocks =
        static_cast<unsigned>((rows_ + kRowsPerDeltaBlock - 1) / kRowsPerDeltaBlock);
    delta_kernel<<<blocks, kThreads, 0, stream_>>>(out, d_out, delta, rows_, problem_);
    check_launch("attention reference delta");
  }

  void output(const Formula& formula, void* out, Dtype out_dtype) const {
    constexpr int kSmallDims = 4, kLargeDims = kSlice / kSide;
    const auto kernel = problem_.head_dim <= kSmallDims * kSide ? output_kernel<kSmallDims>
                                                                : output_kernel<kLargeDims>;
    allow_stage(kernel);
    const dim3 blocks(formula.rows_are_queries ? query_blocks_ : key_blocks_, slices_);
    kernel<<<blocks, kThreads, sizeof(Stage), stream_>>>(formula, out, out_dtype, problem_);
    check_launch("attention reference output");
  }

 private:
  static constexpr std::int64_t kRowsPerDeltaBlock = kThreads / kWarp;
  static constexpr std::int64_t kMostSlices = 65535;  // of a grid's y

  /// More than 48 KiB of shared memory has to be asked for.
  template <class Kernel>
  static void allow_stage(Kernel* kernel) {
    const cudaError_t status = cudaFuncSetAttribute(
        kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(sizeof(Stage)));
    if (status == cudaSuccess) return;
    throw DeviceError("E_LAUNCH",
                      std::string("the reference attention can't have its shared memory: ") +
                          cudaGetErrorString(status));
  }

  cudaStream_t stream_;
  std::int64_t rows_;
  Problem problem_{};
  unsigned query_blocks_ = 0, key_blocks_ = 0, slices_ = 0;
};

}  // namespace

std::size_t attention_reference_scratch_bytes(const AttentionReferenceShape& shape) {
  return static_cast<std::size_t>(rows_of(shape)) * 2 * sizeof(double);
}

void attention_reference_forward(void* stream, const AttentionReferenceShape& shape, const void* q,
                                 const void* k, const void* v, Dtype out_dtype, void* out,
                                 float* lse, void* scratch) {
  require_output_type(out_dtype);
  const Launcher launch(stream, shape);
  auto* exact_lse = static_cast<double*>(scratch);
  launch.lse(q, k, exact_lse, lse);
  launch.output({.rows_are_queries = true,
                 .rows = q,
                 .columns = k,
                 .d_rows = nullptr,
                 .d_columns = nullptr,
                 .values = v,
                 .lse = exact_lse,
                 .delta = nullptr,
                 .scale = 1},
                out, out_dtype);
}

void attention_reference_backward(void* stream, const AttentionReferenceShape& shape, const void* q,
                                  const void* k, const void* v, const void* out, const void* d_out,
                                  float* dq, float* dk, float* dv, void* scratch) {
  const Launcher launch(stream, shape);
  auto* lse = static_cast<double*>(scratch);
  double* delta = lse + rows_of(shape);
  launch.lse(q, k, lse, nullptr);
  launch.delta(out, d_out, delta);
  const Formula by_query{true, q, k, d_out, v, k, lse, delta, launch.scale()};  // dQ = dS K
  const Formula by_key{false, k, q, v, d_out, q, lse, delta, launch.scale()};   // dK = dS^T Q
  const Formula values{false, k, q, nullptr, nullptr, d_out, lse, delta, 1};    // dV = P^T dO
  launch.output(by_query, dq, Dtype::fp32);
  launch.output(by_key, dk, Dtype::fp32);
  launch.output(values, dv, Dtype::fp32);
}

}  // namespace gpubench
