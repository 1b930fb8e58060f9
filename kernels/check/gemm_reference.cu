// SPDX-License-Identifier: Apache-2.0
#include "kernels/check/gemm_reference.h"
#include "kernels/common/convert.cuh"
#include "kernels/common/launch.cuh"

namespace gpubench {
namespace {

// A block makes a 64 x 64 tile of C; each of its 256 threads 4 x 4 of it: rows ty*2 + {0, 1, 32,
// 33} and columns likewise, so that a warp's shared-memory reads are 16 bytes wide and free of bank
// conflicts.
constexpr int kTile = 64;
constexpr int kDepth = 16;
constexpr int kThreads = 256;
constexpr int kPitch = kTile + 2;  // keeps 16-byte alignment, spreads the writes over the banks
constexpr int kLoads = kTile * kDepth / kThreads;
constexpr int kBlocksPerSm =
    2;  // caps registers at 128: one block's warps hide the other's barriers
constexpr int kWarp = 32;

struct Epilogue {
  const void* bias = nullptr;
  Dtype bias_dtype = Dtype::fp32;
  double alpha = 1;
  bool gelu = false;
};

__device__ double load_as(const void* data, Dtype dtype, std::int64_t index) {
  switch (dtype) {
    case Dtype::fp64:
      return static_cast<const double*>(data)[index];
    case Dtype::fp16:
      return to_double(static_cast<const __half*>(data)[index]);
    case Dtype::bf16:
      return to_double(static_cast<const __nv_bfloat16*>(data)[index]);
    case Dtype::fp8_e4m3:
      return to_double(static_cast<const __nv_fp8_e4m3*>(data)[index]);
    case Dtype::fp8_e5m2:
      return to_double(static_cast<const __nv_fp8_e5m2*>(data)[index]);
    default:
      return to_double(static_cast<const float*>(data)[index]);
  }
}

__device__ double finish(double sum, std::int64_t column, const Epilogue& epilogue) {
  constexpr double kSqrt2OverPi = 0.79788456080286535588;
  double value = epilogue.alpha * sum;
  if (epilogue.bias != nullptr) value += load_as(epilogue.bias, epilogue.bias_dtype, column);
  if (!epilogue.gelu) return value;
  return 0.5 * value * (1 + tanh(kSqrt2OverPi * (value + 0.044715 * value * value * value)));
}

/// Brings 64 x 16 slabs of one operand, a few elements per thread, from memory to shared memory.
/// `outer` counts along the tile's side (m or n), `k` along the depth. Neighbouring threads take
/// neighbouring addresses, whichever of the two is contiguous.
/// The type is told at run time: a switch for each element staged costs little beside 64 FMAs, and
/// a kernel for each type took most of the build's time.
struct SlabLoader {
  __device__ SlabLoader(const void* from, Dtype type, std::int64_t outer_begin,
                        std::int64_t outer_end, std::int64_t outer_stride, std::int64_t k_end,
                        std::int64_t k_stride) {
    const int thread = static_cast<int>(threadIdx.x);
    const bool depth_first = k_stride == 1;
    outer = depth_first ? thread / kDepth : thread % kTile;
    depth = depth_first ? thread % kDepth : thread / kTile;
    outer_step = depth_first ? kThreads / kDepth : 0;
    depth_step = depth_first ? 0 : kThreads / kTile;
    outer_left =
        static_cast<int>(outer_end - outer_begin < kTile ? outer_end - outer_begin : kTile);
    k_left = k_end;
    load_stride = outer_step * outer_stride + depth_step * k_stride;
    slab_stride = kDepth * k_stride;
    data = from;
    dtype = type;
    next = (outer_begin + outer) * outer_stride + depth * k_stride;
  }

  /// Zeros outside the matrix.
  __device__ void load(double (&registers)[kLoads]) {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const bool inside = outer + i * outer_step < outer_left && depth + i * depth_step < k_left;
      registers[i] = inside ? load_as(data, dtype, next + i * load_stride) : 0.0;
    }
    next += slab_stride;
    k_left -= kDepth;
  }

  __device__ void store(double (*shared)[kPitch], const double (&registers)[kLoads]) const {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      shared[depth + i * depth_step][outer + i * outer_step] = registers[i];
    }
  }

  const void* data;
  Dtype dtype;
  std::int64_t next;  // index of this thread's first element of the next slab
  std::int64_t load_stride, slab_stride, k_left;
  int outer, depth, outer_step, depth_step, outer_left;
};

__device__ void load_fragment(double (&fragment)[4], const double* row, int first) {
  const double2 low = *reinterpret_cast<const double2*>(row + first);
  const double2 high = *reinterpret_cast<const double2*>(row + first + kTile / 2);
  fragment[0] = low.x;
  fragment[1] = low.y;
  fragment[2] = high.x;
  fragment[3] = high.y;
}

__device__ int fragment_offset(int first, int i) { return first + i % 2 + i / 2 * (kTile / 2); }

__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    gemm_kernel(MatrixView a, Dtype a_dtype, MatrixView b, Dtype b_dtype, std::int64_t m,
                std::int64_t n, std::int64_t k, Epilogue epilogue, float* out) {
  __shared__ __align__(16) double a_shared[kDepth][kPitch];
  __shared__ __align__(16) double b_shared[kDepth][kPitch];
  const std::int64_t tiles_n = (n + kTile - 1) / kTile;
  const std::int64_t row_begin = blockIdx.x / tiles_n * kTile;
  const std::int64_t column_begin = blockIdx.x % tiles_n * kTile;
  const int tx = static_cast<int>(threadIdx.x) % 16 * 2,
            ty = static_cast<int>(threadIdx.x) / 16 * 2;
  SlabLoader a_loader(a.data, a_dtype, row_begin, m, a.row_stride, k, a.column_stride);
  SlabLoader b_loader(b.data, b_dtype, column_begin, n, b.column_stride, k, b.row_stride);

  double sums[4][4] = {};
  double a_next[kLoads], b_next[kLoads];
  a_loader.load(a_next);
  b_loader.load(b_next);
  for (std::int64_t k_begin = 0; k_begin < k; k_begin += kDepth) {
    a_loader.store(a_shared, a_next);
    b_loader.store(b_shared, b_next);
    __syncthreads();
    // Loads of the next slab overlap the arithmetic on this one; past the end they read nothing.
    a_loader.load(a_next);
    b_loader.load(b_next);
#pragma unroll 4
    for (int depth = 0; depth < kDepth; ++depth) {
      double a_fragment[4], b_fragment[4];
      load_fragment(a_fragment, a_shared[depth], ty);
      load_fragment(b_fragment, b_shared[depth], tx);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) sums[i][j] = fma(a_fragment[i], b_fragment[j], sums[i][j]);
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const std::int64_t row = row_begin + fragment_offset(ty, i);
      const std::int64_t column = column_begin + fragment_offset(tx, j);
      if (row < m && column < n) {
        out[row * n + column] = static_cast<float>(finish(sums[i][j], column, epilogue));
      }
    }
  }
}

__device__ double reduce_warp(double value) {
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    value += __shfl_down_sync(0xffffffffu, value, offset);
  }
  return value;
}

/// One warp per (row, group): sum of the group's columns times their weights, in lane 0.
__device__ double project_row(const MatrixView& matrix, Dtype dtype, std::int64_t row,
                              std::int64_t group, std::int64_t n, std::uint64_t seed) {
  double sum = 0;
  for (std::int64_t i = threadIdx.x % kWarp; i < kProjectionColumns; i += kWarp) {
    const std::int64_t column = group * kProjectionColumns + i;
    if (column < n) {
      const std::int64_t index = row * matrix.row_stride + column * matrix.column_stride;
      sum += load_as(matrix.data, dtype, index) * projection_weight(seed, column);
    }
  }
  return reduce_warp(sum);
}

/// out[rows][groups] = matrix[rows][n] times the block-diagonal weights.
template <class Out>
__global__ void project_kernel(MatrixView matrix, Dtype dtype, std::int64_t rows, std::int64_t n,
                               std::uint64_t seed, Out* out) {
  const std::int64_t groups = projection_groups(n);
  const std::int64_t warps = std::int64_t{gridDim.x} * blockDim.x / kWarp;
  std::int64_t i = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / kWarp;
  for (; i < rows * groups; i += warps) {
    const double sum = project_row(matrix, dtype, i / groups, i % groups, n, seed);
    if (threadIdx.x % kWarp == 0) out[i] = static_cast<Out>(sum);
  }
}

/// The bias is one more row to project; zeros where there is none. A thread per group.
__global__ void project_bias_kernel(const void* bias, Dtype dtype, std::int64_t n,
                                    std::uint64_t seed, double* out) {
  const std::int64_t group = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (group >= projection_groups(n)) return;
  double sum = 0;
  for (std::int64_t i = 0; i < kProjectionColumns; ++i) {
    const std::int64_t column = group * kProjectionColumns + i;
    if (bias != nullptr && column < n) {
      sum += load_as(bias, dtype, column) * projection_weight(seed, column);
    }
  }
  out[group] = sum;
}

/// One warp per sample.
__global__ void sample_kernel(GemmReference problem, const void* c, Dtype c_dtype,
                              std::uint64_t seed, float* sampled, float* reference) {
  const std::int64_t samples = sample_count(problem.m, problem.n);
  const std::int64_t warps = std::int64_t{gridDim.x} * blockDim.x / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const MatrixView &a = problem.a, &b = problem.b;
  std::int64_t i = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / kWarp;
  for (; i < samples; i += warps) {
    const SamplePosition at = sample_position(seed, i, problem.m, problem.n);
    double sum = 0;
    for (std::int64_t k = lane; k < problem.k; k += kWarp) {
      sum += load_as(a.data, problem.dtype, at.row * a.row_stride + k * a.column_stride) *
             load_as(b.data, problem.dtype, k * b.row_stride + at.column * b.column_stride);
    }
    sum = reduce_warp(sum);
    if (lane == 0) {
      const Epilogue epilogue{problem.bias, problem.bias_dtype, problem.alpha, problem.gelu};
      reference[i] = static_cast<float>(finish(sum, at.column, epilogue));
      sampled[i] = static_cast<float>(load_as(c, c_dtype, at.row * problem.n + at.column));
    }
  }
}

void launch_gemm(cudaStream_t stream, const MatrixView& a, Dtype a_dtype, const MatrixView& b,
                 Dtype b_dtype, std::int64_t m, std::int64_t n, std::int64_t k,
                 const Epilogue& epilogue, float* out) {
  const std::int64_t tiles = ((m + kTile - 1) / kTile) * ((n + kTile - 1) / kTile);
  gemm_kernel<<<static_cast<unsigned>(tiles), kThreads, 0, stream>>>(a, a_dtype, b, b_dtype, m, n,
                                                                     k, epilogue, out);
  check_launch("gemm_kernel");
}

unsigned warp_grid(std::int64_t warps) {
  return grid_for(static_cast<std::uint64_t>(warps) * kWarp, kThreads);
}

}  // namespace

void launch_gemm_reference(void* stream, const GemmReference& problem, float* out) {
  launch_gemm(native_stream(stream), problem.a, problem.dtype, problem.b, problem.dtype, problem.m,
              problem.n, problem.k, {problem.bias, problem.bias_dtype, problem.alpha, problem.gelu},
              out);
}

void launch_gemm_projection(void* stream, const GemmReference& problem, const void* c,
                            Dtype c_dtype, std::uint64_t seed, double* scratch, float* projected,
                            float* reference) {
  if (problem.gelu) throw Error("E_INTERNAL", "a projection can't check a nonlinear epilogue");
  const cudaStream_t queue = native_stream(stream);
  const std::int64_t groups = projection_groups(problem.n);
  double* bias = scratch + problem.k * groups;
  const unsigned bias_blocks = static_cast<unsigned>((groups + kThreads - 1) / kThreads);
  project_bias_kernel<<<bias_blocks, kThreads, 0, queue>>>(problem.bias, problem.bias_dtype,
                                                           problem.n, seed, bias);
  check_launch("project_bias_kernel");
  project_kernel<<<warp_grid(problem.k * groups), kThreads, 0, queue>>>(
      problem.b, problem.dtype, problem.k, problem.n, seed, scratch);
  check_launch("project_kernel");
  launch_gemm(queue, problem.a, problem.dtype, {scratch, groups, 1}, Dtype::fp64, problem.m, groups,
              problem.k, {bias, Dtype::fp64, problem.alpha, false}, reference);
  project_kernel<<<warp_grid(problem.m * groups), kThreads, 0, queue>>>(
      MatrixView{c, problem.n, 1}, c_dtype, problem.m, problem.n, seed, projected);
  check_launch("project_kernel");
}

void launch_gemm_samples(void* stream, const GemmReference& problem, const void* c, Dtype c_dtype,
                         std::uint64_t seed, float* sampled, float* reference) {
  sample_kernel<<<warp_grid(sample_count(problem.m, problem.n)), kThreads, 0,
                  native_stream(stream)>>>(problem, c, c_dtype, seed, sampled, reference);
  check_launch("sample_kernel");
}

}  // namespace gpubench
