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
constexpr std::int64_t kMostBatch = 65535;  // of one launch: the grid's y

struct Epilogue {
  const void* bias;
  const void* residual;
  Dtype dtype;
  double alpha;
  bool gelu;
};

__host__ __device__ Epilogue epilogue_of(const GemmReference& problem) {
  return {problem.bias, problem.residual, problem.bias_dtype, problem.alpha, problem.gelu};
}

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
    case Dtype::int8:
      return to_double(static_cast<const std::int8_t*>(data)[index]);
    case Dtype::int32:
      return to_double(static_cast<const std::int32_t*>(data)[index]);
    default:
      return to_double(static_cast<const float*>(data)[index]);
  }
}

/// A sum of products in double, and what an epilogue makes of it.
struct PlainSum {
  __device__ void add(double a, double b) { sum = fma(a, b, sum); }
  __device__ void scale(double alpha) { sum *= alpha; }
  __device__ void add(double value) { sum += value; }
  __device__ double value() const { return sum; }
  double sum = 0;
};

/// The same as if in twice the precision of double: Dot2 of Ogita, Rump and Oishi, Accurate Sum and
/// Dot Product (2005). The epilogue's sums, too: each rounding of one that cancels would show in
/// the result. The intrinsics keep the compiler from fusing what must round.
struct CompensatedSum {
  __device__ void add(double a, double b) {
    const double product = __dmul_rn(a, b);
    rest = __dadd_rn(rest, __dadd_rn(__fma_rn(a, b, -product), add_and_lose(product)));
  }
  __device__ void scale(double alpha) {
    const double product = __dmul_rn(alpha, sum);
    rest = __fma_rn(alpha, rest, __fma_rn(alpha, sum, -product));
    sum = product;
  }
  __device__ void add(double value) { rest = __dadd_rn(rest, add_and_lose(value)); }
  __device__ double value() const { return sum + rest; }
  double sum = 0, rest = 0;

 private:
  /// Returns what the rounded sum lost: exact (Knuth's two-sum).
  __device__ double add_and_lose(double value) {
    const double next = __dadd_rn(sum, value);
    const double added = __dadd_rn(next, -sum);
    const double lost =
        __dadd_rn(__dadd_rn(sum, -__dadd_rn(next, -added)), __dadd_rn(value, -added));
    sum = next;
    return lost;
  }
};

/// What goes into the GELU, of the element of that column and index in C.
template <class Sum>
__device__ double linear(Sum sum, std::int64_t column, std::int64_t index,
                         const Epilogue& epilogue) {
  sum.scale(epilogue.alpha);
  if (epilogue.bias != nullptr) sum.add(load_as(epilogue.bias, epilogue.dtype, column));
  if (epilogue.residual != nullptr) sum.add(load_as(epilogue.residual, epilogue.dtype, index));
  return sum.value();
}

__device__ double finish(double value, const Epilogue& epilogue) {
  constexpr double kSqrt2OverPi = 0.79788456080286535588;
  if (!epilogue.gelu) return value;
  return 0.5 * value * (1 + tanh(kSqrt2OverPi * (value + 0.044715 * value * value * value)));
}

/// Brings 64 x 16 slabs of one operand, a few elements per thread, from memory to shared memory.
/// `outer` counts along the tile's side (m or n), `k` along the depth. Neighbouring threads take
/// neighbouring addresses, whichever of the two is contiguous.
/// The type is told at run time: a switch for each element staged costs little beside 64 FMAs, and
/// a kernel for each type took most of the build's time.
struct SlabLoader {
  __device__ SlabLoader(const void* from, Dtype type, std::int64_t begin, std::int64_t outer_begin,
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
    next = begin + (outer_begin + outer) * outer_stride + depth * k_stride;
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

/// blockIdx.x counts tiles, blockIdx.y matrices of the batch from `batch_begin`.
template <class Sum, class Out>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    gemm_kernel(MatrixView a, Dtype a_dtype, MatrixView b, Dtype b_dtype, std::int64_t m,
                std::int64_t n, std::int64_t k, std::int64_t batch_begin, Epilogue epilogue,
                Out* out, Out* aux) {
  __shared__ __align__(16) double a_shared[kDepth][kPitch];
  __shared__ __align__(16) double b_shared[kDepth][kPitch];
  const std::int64_t tiles_n = (n + kTile - 1) / kTile;
  const std::int64_t row_begin = blockIdx.x / tiles_n * kTile;
  const std::int64_t column_begin = blockIdx.x % tiles_n * kTile;
  const int tx = static_cast<int>(threadIdx.x) % 16 * 2,
            ty = static_cast<int>(threadIdx.x) / 16 * 2;
  const std::int64_t batch = batch_begin + blockIdx.y;
  SlabLoader a_loader(a.data, a_dtype, batch * a.batch_stride, row_begin, m, a.row_stride, k,
                      a.column_stride);
  SlabLoader b_loader(b.data, b_dtype, batch * b.batch_stride, column_begin, n, b.column_stride, k,
                      b.row_stride);

  Sum sums[4][4];
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
        for (int j = 0; j < 4; ++j) sums[i][j].add(a_fragment[i], b_fragment[j]);
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
        const std::int64_t index = (batch * m + row) * n + column;
        const double value = linear(sums[i][j], column, index, epilogue);
        if (aux != nullptr) aux[index] = static_cast<Out>(value);
        out[index] = static_cast<Out>(finish(value, epilogue));
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
__device__ double project_row(const MatrixView& matrix, Dtype dtype, std::int64_t batch,
                              std::int64_t row, std::int64_t group, std::int64_t n,
                              std::uint64_t seed) {
  double sum = 0;
  for (std::int64_t i = threadIdx.x % kWarp; i < kProjectionColumns; i += kWarp) {
    const std::int64_t column = group * kProjectionColumns + i;
    if (column < n) {
      const std::int64_t index =
          batch * matrix.batch_stride + row * matrix.row_stride + column * matrix.column_stride;
      sum += load_as(matrix.data, dtype, index) * projection_weight(seed, column);
    }
  }
  return reduce_warp(sum);
}

/// out[batch][rows][groups] = matrix[batch][rows][n] times the block-diagonal weights.
__global__ void project_kernel(MatrixView matrix, Dtype dtype, std::int64_t batch,
                               std::int64_t rows, std::int64_t n, std::uint64_t seed, double* out) {
  const std::int64_t groups = projection_groups(n);
  const std::int64_t warps = std::int64_t{gridDim.x} * blockDim.x / kWarp;
  std::int64_t i = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / kWarp;
  for (; i < batch * rows * groups; i += warps) {
    const double sum =
        project_row(matrix, dtype, i / (rows * groups), i / groups % rows, i % groups, n, seed);
    if (threadIdx.x % kWarp == 0) out[i] = sum;
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
                              std::uint64_t seed, double* sampled, double* reference) {
  const std::int64_t samples = sample_count(problem.m, problem.n);
  const std::int64_t warps = std::int64_t{gridDim.x} * blockDim.x / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const MatrixView &a = problem.a, &b = problem.b;
  std::int64_t i = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / kWarp;
  for (; i < problem.batch * samples; i += warps) {
    const std::int64_t batch = i / samples;
    const SamplePosition at =
        sample_position(batch_seed(seed, batch), i % samples, problem.m, problem.n);
    const std::int64_t a_row = batch * a.batch_stride + at.row * a.row_stride;
    const std::int64_t b_column = batch * b.batch_stride + at.column * b.column_stride;
    CompensatedSum dot;
    for (std::int64_t k = lane; k < problem.k; k += kWarp) {
      dot.add(load_as(a.data, problem.a_dtype, a_row + k * a.column_stride),
              load_as(b.data, problem.b_dtype, b_column + k * b.row_stride));
    }
    dot.sum = reduce_warp(dot.sum);
    dot.rest = reduce_warp(dot.rest);
    if (lane == 0) {
      const Epilogue epilogue = epilogue_of(problem);
      const std::int64_t index = (batch * problem.m + at.row) * problem.n + at.column;
      reference[i] = finish(linear(dot, at.column, index, epilogue), epilogue);
      sampled[i] = load_as(c, c_dtype, index);
    }
  }
}

/// Sums in `Sum`; the results are [batch][m][n].
template <class Sum, class Out>
void launch_gemm(cudaStream_t stream, const GemmReference& problem, Out* out, Out* aux) {
  const std::int64_t tiles = ((problem.m + kTile - 1) / kTile) * ((problem.n + kTile - 1) / kTile);
  for (std::int64_t begin = 0; begin < problem.batch; begin += kMostBatch) {
    const dim3 grid(static_cast<unsigned>(tiles),
                    static_cast<unsigned>(std::min(kMostBatch, problem.batch - begin)));
    gemm_kernel<Sum><<<grid, kThreads, 0, stream>>>(
        problem.a, problem.a_dtype, problem.b, problem.b_dtype, problem.m, problem.n, problem.k,
        begin, epilogue_of(problem), out, aux);
    check_launch("gemm_kernel");
  }
}

unsigned warp_grid(std::int64_t warps) {
  return grid_for(static_cast<std::uint64_t>(warps) * kWarp, kThreads);
}

}  // namespace

void launch_gemm_reference(void* stream, const GemmReference& problem, float* out, float* aux) {
  launch_gemm<PlainSum>(native_stream(stream), problem, out, aux);
}

void launch_gemm_reference(void* stream, const GemmReference& problem, double* out, double* aux) {
  const cudaStream_t queue = native_stream(stream);
  if (problem.a_dtype == Dtype::fp64 || problem.b_dtype == Dtype::fp64) {
    launch_gemm<CompensatedSum>(queue, problem, out, aux);
  } else {
    launch_gemm<PlainSum>(queue, problem, out, aux);
  }
}

void launch_gemm_projection(void* stream, const GemmReference& problem, const void* c,
                            Dtype c_dtype, std::uint64_t seed, double* scratch, double* projected,
                            double* reference) {
  if (problem.gelu) throw Error("E_INTERNAL", "a projection can't check a nonlinear epilogue");
  const cudaStream_t queue = native_stream(stream);
  const std::int64_t groups = projection_groups(problem.n);
  const std::int64_t batch = problem.batch, m = problem.m, n = problem.n, k = problem.k;
  double* bias = scratch + batch * k * groups;
  const unsigned bias_blocks = static_cast<unsigned>((groups + kThreads - 1) / kThreads);
  project_bias_kernel<<<bias_blocks, kThreads, 0, queue>>>(problem.bias, problem.bias_dtype, n,
                                                           seed, bias);
  check_launch("project_bias_kernel");
  project_kernel<<<warp_grid(batch * k * groups), kThreads, 0, queue>>>(problem.b, problem.b_dtype,
                                                                        batch, k, n, seed, scratch);
  check_launch("project_kernel");
  GemmReference smaller = problem;
  smaller.n = groups;
  smaller.b = {scratch, groups, 1, k * groups};
  smaller.b_dtype = Dtype::fp64;
  smaller.bias = bias;
  smaller.bias_dtype = Dtype::fp64;
  const auto project_output = [&](const void* matrix, Dtype dtype) {
    project_kernel<<<warp_grid(batch * m * groups), kThreads, 0, queue>>>(
        MatrixView{matrix, n, 1, m * n}, dtype, batch, m, n, seed, projected);
    check_launch("project_kernel");
  };
  if (problem.residual != nullptr) {
    project_output(problem.residual, problem.bias_dtype);  // until C takes its place
    smaller.residual = projected;
  }
  launch_gemm<PlainSum>(queue, smaller, reference, static_cast<double*>(nullptr));
  project_output(c, c_dtype);
}

void launch_gemm_samples(void* stream, const GemmReference& problem, const void* c, Dtype c_dtype,
                         std::uint64_t seed, double* sampled, double* reference) {
  sample_kernel<<<warp_grid(problem.batch * sample_count(problem.m, problem.n)), kThreads, 0,
                  native_stream(stream)>>>(problem, c, c_dtype, seed, sampled, reference);
  check_launch("sample_kernel");
}

}  // namespace gpubench
