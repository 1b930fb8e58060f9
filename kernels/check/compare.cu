// SPDX-License-Identifier: Apache-2.0
#include "kernels/check/compare.h"
#include "kernels/common/convert.cuh"
#include "kernels/common/launch.cuh"

namespace gpubench {
namespace {

// Fixed, so that the order of every sum is the same on every GPU.
constexpr unsigned kThreads = 256;
constexpr unsigned kBlocks = 1024;
constexpr unsigned kWarp = 32;
constexpr std::uint64_t kNone = ~std::uint64_t{0};

struct Workspace {
  CompareResult result;
  double squares[kBlocks];
  CompareResult partial[kBlocks];
};

/// CompareResult has default values, which shared memory can't take: raw bytes instead.
struct SharedResults {
  alignas(CompareResult) unsigned char raw[kThreads * sizeof(CompareResult)];
  __device__ CompareResult* results() { return reinterpret_cast<CompareResult*>(raw); }
};

/// Block-wide tree over shared memory; the result is valid in thread 0.
template <class T, class Combine>
__device__ T reduce_block(T* shared, T value, Combine combine) {
  shared[threadIdx.x] = value;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) combine(shared[threadIdx.x], shared[threadIdx.x + half]);
    __syncthreads();
  }
  return shared[0];
}

__device__ void add(double& to, const double& from) { to += from; }

__device__ void merge(CompareResult& to, const CompareResult& from) {
  if (from.max_error > to.max_error) {
    to.max_error = from.max_error;
    to.max_index = from.max_index;
  }
  to.bad += from.bad;
  to.nonfinite += from.nonfinite;
  if (from.first_bad < to.first_bad) {
    to.first_bad = from.first_bad;
    to.first_out = from.first_out;
    to.first_reference = from.first_reference;
  }
}

__device__ CompareResult nothing_compared() {
  CompareResult result;
  result.first_bad = kNone;
  return result;
}

template <class R>
__global__ void squares_kernel(const R* reference, std::uint64_t count, Workspace* workspace) {
  __shared__ double shared[kThreads];
  double sum = 0;
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    const double value = reference[i];
    sum += value * value;
  }
  sum = reduce_block(shared, sum, add);
  if (threadIdx.x == 0) workspace->squares[blockIdx.x] = sum;
}

__global__ void rms_kernel(std::uint64_t count, double least_rms, Workspace* workspace) {
  __shared__ double shared[kThreads];
  double sum = 0;
  for (unsigned i = threadIdx.x; i < kBlocks; i += blockDim.x) sum += workspace->squares[i];
  sum = reduce_block(shared, sum, add);
  if (threadIdx.x == 0) {
    workspace->result.reference_rms = fmax(sqrt(sum / static_cast<double>(count)), least_rms);
  }
}

__device__ void compare_element(CompareResult& mine, double value, double wanted, double rms,
                                double tolerance, std::uint64_t index) {
  const double difference = fabs(value - wanted);
  // Equal zeros beside an rms of zero would be 0 / 0.
  const double error = difference == 0 ? 0 : difference / (fabs(wanted) + rms);
  const bool finite = isfinite(value) && isfinite(wanted);
  if (!finite) ++mine.nonfinite;
  if (finite && error > mine.max_error) {
    mine.max_error = error;
    mine.max_index = index;
  }
  // Negated, so that NaN counts as bad.
  if (!finite || !(error <= tolerance)) {
    if (mine.bad == 0) {
      mine.first_bad = index;
      mine.first_out = value;
      mine.first_reference = wanted;
    }
    ++mine.bad;
  }
}

template <class T, class R>
__global__ void compare_kernel(const T* out, const R* reference, std::uint64_t count,
                               double tolerance, Workspace* workspace) {
  __shared__ SharedResults storage;
  const double rms = workspace->result.reference_rms;
  CompareResult mine = nothing_compared();
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    compare_element(mine, to_double(out[i]), reference[i], rms, tolerance, i);
  }
  const CompareResult all = reduce_block(storage.results(), mine, merge);
  if (threadIdx.x == 0) workspace->partial[blockIdx.x] = all;
}

/// A warp takes a row: its rms first, then its elements.
template <class T, class R>
__global__ void compare_rows_kernel(const T* out, const R* reference, std::uint64_t rows,
                                    CompareOptions options, Workspace* workspace) {
  __shared__ SharedResults storage;
  const double least_rms =
      fmax(options.row_floor * workspace->result.reference_rms, options.least_rms);
  CompareResult mine = nothing_compared();
  const std::uint64_t warps = std::uint64_t{gridDim.x} * (blockDim.x / kWarp);
  const unsigned lane = threadIdx.x % kWarp;
  for (std::uint64_t row = (std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) / kWarp;
       row < rows; row += warps) {
    const std::uint64_t begin = row * options.row, end = begin + options.row;
    double sum = 0;
    for (std::uint64_t i = begin + lane; i < end; i += kWarp) {
      const double value = reference[i];
      sum += value * value;
    }
    for (unsigned step = kWarp / 2; step > 0; step /= 2) {
      sum += __shfl_xor_sync(0xffffffffu, sum, step);
    }
    const double rms = fmax(sqrt(sum / static_cast<double>(options.row)), least_rms);
    for (std::uint64_t i = begin + lane; i < end; i += kWarp) {
      compare_element(mine, to_double(out[i]), reference[i], rms, options.tolerance, i);
    }
  }
  const CompareResult all = reduce_block(storage.results(), mine, merge);
  if (threadIdx.x == 0) workspace->partial[blockIdx.x] = all;
}

__global__ void merge_kernel(Workspace* workspace) {
  __shared__ SharedResults storage;
  CompareResult mine = nothing_compared();
  for (unsigned i = threadIdx.x; i < kBlocks; i += blockDim.x) merge(mine, workspace->partial[i]);
  CompareResult all = reduce_block(storage.results(), mine, merge);
  if (threadIdx.x == 0) {
    all.reference_rms = workspace->result.reference_rms;
    workspace->result = all;
  }
}

template <class T, class R>
void compare(cudaStream_t queue, const T* out, const R* reference, std::uint64_t count,
             const CompareOptions& options, Workspace* space) {
  squares_kernel<<<kBlocks, kThreads, 0, queue>>>(reference, count, space);
  check_launch("squares_kernel");
  rms_kernel<<<1, kThreads, 0, queue>>>(count, options.least_rms, space);
  check_launch("rms_kernel");
  if (options.row == 0) {
    compare_kernel<<<kBlocks, kThreads, 0, queue>>>(out, reference, count, options.tolerance,
                                                    space);
  } else {
    compare_rows_kernel<<<kBlocks, kThreads, 0, queue>>>(out, reference, count / options.row,
                                                         options, space);
  }
  check_launch("compare_kernel");
  merge_kernel<<<1, kThreads, 0, queue>>>(space);
  check_launch("merge_kernel");
}

}  // namespace

std::size_t compare_workspace_bytes() { return sizeof(Workspace); }

void launch_compare(void* stream, Dtype dtype, const void* out, const void* reference,
                    std::uint64_t count, const CompareOptions& options, void* workspace) {
  const cudaStream_t queue = native_stream(stream);
  auto* space = static_cast<Workspace*>(workspace);
  if (dtype == Dtype::fp64) {
    return compare(queue, static_cast<const double*>(out), static_cast<const double*>(reference),
                   count, options, space);
  }
  if (dtype == Dtype::int32) {
    return compare(queue, static_cast<const std::int32_t*>(out),
                   static_cast<const double*>(reference), count, options, space);
  }
  with_storage(dtype, [&](auto storage) {
    using T = typename decltype(storage)::type;
    compare(queue, static_cast<const T*>(out), static_cast<const float*>(reference), count, options,
            space);
  });
}

}  // namespace gpubench
