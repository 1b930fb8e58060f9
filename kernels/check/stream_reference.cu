// SPDX-License-Identifier: Apache-2.0
#include "kernels/check/stream_reference.h"
#include "kernels/common/launch.cuh"

namespace gpubench {
namespace {

constexpr unsigned kThreads = 256;

__device__ double element(const StreamArguments& arguments, std::uint64_t i) {
  const double a = arguments.a[i], scalar = arguments.scalar;
  switch (arguments.kernel) {
    case StreamKernel::scale:
      return scalar * a;
    case StreamKernel::triad:
      return a + scalar * static_cast<double>(arguments.b[i]);
    default:
      return a;
  }
}

__global__ void elements_kernel(StreamArguments arguments) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < arguments.count;
       i += stride) {
    arguments.out[i] = static_cast<float>(element(arguments, i));
  }
}

/// A block per chunk, a tree in double.
__global__ void chunks_kernel(StreamArguments arguments) {
  __shared__ double sums[kThreads];
  const std::uint64_t begin = blockIdx.x * kReadChunk;
  const std::uint64_t end =
      begin + kReadChunk < arguments.count ? begin + kReadChunk : arguments.count;
  double sum = 0;
  for (std::uint64_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
    sum += static_cast<double>(arguments.a[i]);
  }
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) arguments.out[blockIdx.x] = static_cast<float>(sums[0]);
}

}  // namespace

void launch_stream_reference(void* stream, const StreamArguments& arguments) {
  if (arguments.count == 0) return;
  const cudaStream_t queue = native_stream(stream);
  if (arguments.kernel == StreamKernel::read) {
    const auto chunks = static_cast<unsigned>((arguments.count + kReadChunk - 1) / kReadChunk);
    chunks_kernel<<<chunks, kThreads, 0, queue>>>(arguments);
  } else {
    elements_kernel<<<grid_for(arguments.count, kThreads), kThreads, 0, queue>>>(arguments);
  }
  check_launch("stream_reference");
}

}  // namespace gpubench
