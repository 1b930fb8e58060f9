// SPDX-License-Identifier: Apache-2.0
// A block of 16 x 16 threads owns 64 rows of one output and walks over 64 columns of weights at a
// time: first the weights (a product over head_dim), then their product with the rows of another
// operand. The four outputs differ in the weights only, so one kernel makes them all; every sum
// runs in double and in a fixed order. The element type is looked at while staging, not a template
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
using attention_reference::kMaxDim;
using attention_reference::kPerThread;
using attention_reference::kSide;
using attention_reference::kThreads;
using attention_reference::kTile;
using attention_reference::load;
using attention_reference::multiply_tile;
using attention_reference::Place;
using attention_reference::place_of_block;
using attention_reference::Problem;
using attention_reference::Stage;
using attention_reference::store;

constexpr int kWarp = 32;

__device__ bool masked(const Problem& problem, std::int64_t query, std::int64_t key) {
  return query >= problem.seq || key >= problem.seq || (problem.causal && key > query);
}

/// Log-sum-exp of the scaled scores of each query, in double and, where asked for, in FP32.
__global__ void __launch_bounds__(kThreads)
    lse_kernel(const void* q, const void* k, double* lse, float* lse_out, Problem problem) {
  extern __shared__ double shared[];
  Stage& stage = *reinterpret_cast<Stage*>(shared);
  const Place place = place_of_block(problem);
  const int tx = static_cast<int>(threadIdx.x) % kSide, ty = static_cast<int>(threadIdx.x) / kSide;
  double largest[kPerThread], sum[kPerThread];
#pragma unroll
  for (int i = 0; i < kPerThread; ++i) {
    largest[i] = -INFINITY;
    sum[i] = 0;
  }
  for (std::int64_t column = 0; column < problem.seq; column += kTile) {
    if (problem.causal && column > place.first_row) break;
    double scores[kPerThread][kPerThread];
    multiply_tile(scores, stage, q, k, column, problem, place);
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
#pragma unroll
      for (int j = 0; j < kPerThread; ++j) {
        if (masked(problem, place.first_row + ty + kSide * i, column + tx + kSide * j)) continue;
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
    const std::int64_t row = place.first_row + ty + kSide * i;
    if (tx == 0 && row < problem.seq) {
      const double value = row_largest + log(row_sum);
      lse[place.head * problem.seq + row] = value;
      if (lse_out != nullptr) lse_out[place.head * problem.seq + row] = static_cast<float>(value);
    }
  }
}

/// delta = rowsum(dO * O) of each query: one warp per row.
__global__ void __launch_bounds__(kThreads)
    delta_kernel(const void* out, const void* d_out, double* delta, std::int64_t rows,
                 Problem problem) {
  const std::int64_t row = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kWarp;
  if (row >= rows) return;  // a whole warp at once
  const std::int64_t head = row / problem.seq, position = row % problem.seq;
  const std::int64_t at =
      ((head / problem.heads * problem.seq + position) * problem.heads + head % problem.heads) *
      problem.head_dim;
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

/// P, or dS = P (dP - delta), of a tile into stage.weights.
__device__ void weigh_tile(Stage& stage, const Formula& formula, const Problem& problem,
                           const Place& place, std::int64_t first_column) {
  const int tx = static_cast<int>(threadIdx.x) % kSide, ty = static_cast<int>(threadIdx.x) / kSide;
  const std::int64_t first_lse = place.head * problem.seq;
  double weights[kPerThread][kPerThread];
  multiply_tile(weights, stage, formula.rows, formula.columns, first_column, problem, place);
#pragma unroll
  for (int i = 0; i < kPerThread; ++i) {
#pragma unroll
    for (int j = 0; j < kPerThread; ++j) {
      const std::int64_t row = place.first_row + ty + kSide * i;
      const std::int64_t column = first_column + tx + kSide * j;
      const std::int64_t query = formula.rows_are_queries ? row : column;
      const std::int64_t key = formula.rows_are_queries ? column : row;
      weights[i][j] = masked(problem, query, key)
                          ? 0.0
                          : exp(problem.scale * weights[i][j] - formula.lse[first_lse + query]);
    }
  }
  if (formula.d_rows != nullptr) {
    double gradients[kPerThread][kPerThread];
    multiply_tile(gradients, stage, formula.d_rows, formula.d_columns, first_column, problem,
                  place);
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
#pragma unroll
      for (int j = 0; j < kPerThread; ++j) {
        const std::int64_t query = formula.rows_are_queries ? place.first_row + ty + kSide * i
                                                            : first_column + tx + kSide * j;
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

/// kDims * 16 is at least head_dim.
template <int kDims>
__global__ void __launch_bounds__(kThreads)
    output_kernel(Formula formula, void* out, Dtype out_dtype, Problem problem) {
  extern __shared__ double shared[];
  Stage& stage = *reinterpret_cast<Stage*>(shared);
  const Place place = place_of_block(problem);
  double sums[kPerThread][kDims] = {};
  // Causal: a query needs the keys up to itself, a key the queries from itself on.
  const bool up_to_row = problem.causal && formula.rows_are_queries;
  const bool from_row = problem.causal && !formula.rows_are_queries;
  for (std::int64_t column = from_row ? place.first_row : 0; column < problem.seq;
       column += kTile) {
    if (up_to_row && column > place.first_row) break;
    weigh_tile(stage, formula, problem, place, column);
    accumulate_tile<kDims>(sums, stage, formula.values, column, problem, place);
  }
  const int tx = static_cast<int>(threadIdx.x) % kSide, ty = static_cast<int>(threadIdx.x) / kSide;
#pragma unroll
  for (int i = 0; i < kPerThread; ++i) {
    const std::int64_t row = place.first_row + ty + kSide * i;
#pragma unroll
    for (int j = 0; j < kDims; ++j) {
      const int depth = tx + kSide * j;
      if (row < problem.seq && depth < problem.head_dim) {
        store(out, out_dtype, place.offset + row * place.stride + depth,
              formula.scale * sums[i][j]);
      }
    }
  }
}

void require_type(Dtype dtype) {
  if (dtype == Dtype::fp32 || dtype == Dtype::fp16 || dtype == Dtype::bf16) return;
  throw Unsupported("E_UNSUPPORTED_DTYPE", "the reference attention takes fp32, fp16 or bf16");
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
    require_type(shape.dtype);
    if (shape.head_dim > kAttentionReferenceMaxHeadDim) {
      throw Unsupported("E_UNSUPPORTED_SHAPE",
                        "the reference attention takes head_dim up to 128; choose a smaller one");
    }
    problem_ = {.heads = shape.heads,
                .seq = shape.seq,
                .head_dim = shape.head_dim,
                .tiles = (shape.seq + kTile - 1) / kTile,
                .scale = 1 / std::sqrt(static_cast<double>(shape.head_dim)),
                .causal = shape.causal,
                .dtype = shape.dtype};
    const std::int64_t blocks = problem_.tiles * shape.batch * shape.heads;
    if (blocks > INT32_MAX || rows_ / kRowsPerDeltaBlock >= INT32_MAX) {
      throw Unsupported("E_UNSUPPORTED_SHAPE",
                        "batch * heads * seq is too large for the reference attention");
    }
    blocks_ = static_cast<unsigned>(blocks);
  }

  double scale() const { return problem_.scale; }

  void lse(const void* q, const void* k, double* lse, float* lse_out) const {
    allow_stage(lse_kernel);
    lse_kernel<<<blocks_, kThreads, sizeof(Stage), stream_>>>(q, k, lse, lse_out, problem_);
    check_launch("attention reference lse");
  }

  void delta(const void* out, const void* d_out, double* delta) const {
    const auto blocks =
        static_cast<unsigned>((rows_ + kRowsPerDeltaBlock - 1) / kRowsPerDeltaBlock);
    delta_kernel<<<blocks, kThreads, 0, stream_>>>(out, d_out, delta, rows_, problem_);
    check_launch("attention reference delta");
  }

  void output(const Formula& formula, void* out, Dtype out_dtype) const {
    constexpr int kSmallDims = 4, kLargeDims = kMaxDim / kSide;
    const auto kernel = problem_.head_dim <= kSmallDims * kSide ? output_kernel<kSmallDims>
                                                                : output_kernel<kLargeDims>;
    allow_stage(kernel);
    kernel<<<blocks_, kThreads, sizeof(Stage), stream_>>>(formula, out, out_dtype, problem_);
    check_launch("attention reference output");
  }

 private:
  static constexpr std::int64_t kRowsPerDeltaBlock = kThreads / kWarp;

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
  unsigned blocks_ = 0;
};

}  // namespace

std::size_t attention_reference_scratch_bytes(const AttentionReferenceShape& shape) {
  return static_cast<std::size_t>(rows_of(shape)) * 2 * sizeof(double);
}

void attention_reference_forward(void* stream, const AttentionReferenceShape& shape, const void* q,
                                 const void* k, const void* v, Dtype out_dtype, void* out,
                                 float* lse, void* scratch) {
  require_type(out_dtype);
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
