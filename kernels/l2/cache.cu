// SPDX-License-Identifier: Apache-2.0
#include "kernels/common/launch.cuh"
#include "kernels/l2/cache.h"

namespace gpubench {
namespace {

constexpr unsigned kWarp = 32;
constexpr unsigned kThreads = 256;
constexpr int kVectors = kCacheChunk / 4 / kWarp;  // 16-byte loads in flight per thread

// .cg: cached in the L2 only. volatile, since a later pass loads and stores what an earlier one
// did, and must do it again.
__device__ float4 load_l2(const float4* from) {
  float4 value;
  asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(value.x), "=f"(value.y), "=f"(value.z), "=f"(value.w)
               : "l"(from));
  return value;
}

__device__ float load_l2(const float* from) {
  float value;
  asm volatile("ld.global.cg.f32 %0, [%1];" : "=f"(value) : "l"(from));
  return value;
}

__device__ void store_l2(float4* to, float4 value) {
  asm volatile("st.global.cg.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(value.x), "f"(value.y),
               "f"(value.z), "f"(value.w)
               : "memory");
}

__device__ void store_l2(float* to, float value) {
  asm volatile("st.global.cg.f32 [%0], %1;" ::"l"(to), "f"(value) : "memory");
}

template <bool kCopies>
__device__ float sum_of_chunk(const CacheArguments& arguments, std::uint64_t first, unsigned lane) {
  float sum = 0;
  if (first + kCacheChunk <= arguments.count) {
    const auto* from = reinterpret_cast<const float4*>(arguments.a + first) + lane;
    float4 values[kVectors];
#pragma unroll
    for (int i = 0; i < kVectors; ++i) values[i] = load_l2(from + i * kWarp);
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      sum += (values[i].x + values[i].y) + (values[i].z + values[i].w);
    }
    if constexpr (kCopies) {
      auto* to = reinterpret_cast<float4*>(arguments.copy + first) + lane;
#pragma unroll
      for (int i = 0; i < kVectors; ++i) store_l2(to + i * kWarp, values[i]);
    }
    return sum;
  }
  for (std::uint64_t i = first + lane; i < arguments.count; i += kWarp) {
    const float value = load_l2(arguments.a + i);
    sum += value;
    if constexpr (kCopies) store_l2(arguments.copy + i, value);
  }
  return sum;
}

/// Warps take the chunks of all passes in turn, so from pass to pass an SM meets other chunks, and
/// no barrier parts the passes. Copies of several passes write the same values.
template <bool kCopies>
__global__ void __launch_bounds__(kThreads) cache_kernel(CacheArguments arguments) {
  const unsigned lane = threadIdx.x % kWarp;
  const std::uint64_t chunks = cache_chunks(arguments.count);
  const std::uint64_t items = arguments.passes * chunks;
  const std::uint64_t warps = std::uint64_t{gridDim.x} * (kThreads / kWarp);
  const std::uint64_t warp = (std::uint64_t{blockIdx.x} * kThreads + threadIdx.x) / kWarp;
  // item % chunks, kept without dividing each time: that would be half of the instructions.
  std::uint64_t chunk = warp % chunks;
  const std::uint64_t step = warps % chunks;
  for (std::uint64_t item = warp; item < items; item += warps) {
    float sum = sum_of_chunk<kCopies>(arguments, chunk * kCacheChunk, lane);
    chunk += step;
    if (chunk >= chunks) chunk -= chunks;
#pragma unroll
    for (unsigned offset = kWarp / 2; offset > 0; offset /= 2) {
      sum += __shfl_down_sync(0xffffffffu, sum, offset);
    }
    // Streaming: the sums must not take room in the cache from the working set.
    if (lane == 0) __stcs(arguments.sums + item, sum);
  }
}

template <bool kCopies>
void launch(cudaStream_t stream, const CacheArguments& arguments) {
  int device = 0, sms = 1, blocks_per_sm = 1;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_per_sm, cache_kernel<kCopies>, kThreads, 0);
  check_launch("the occupancy query of cache_kernel");
  const auto blocks = static_cast<unsigned>(std::max(sms * blocks_per_sm, 1));
  cache_kernel<kCopies><<<blocks, kThreads, 0, stream>>>(arguments);
}

__global__ void sums_kernel(CacheArguments arguments) {
  const std::uint64_t chunks = cache_chunks(arguments.count);
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t chunk = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; chunk < chunks;
       chunk += stride) {
    const std::uint64_t first = chunk * kCacheChunk;
    double sum = 0;
    for (std::uint64_t i = first; i < first + kCacheChunk && i < arguments.count; ++i) {
      sum += static_cast<double>(arguments.a[i]);
    }
    for (std::uint64_t pass = 0; pass < arguments.passes; ++pass) {
      arguments.sums[pass * chunks + chunk] = static_cast<float>(sum);
    }
  }
}

}  // namespace

void launch_cache(void* stream, const CacheArguments& arguments) {
  if (arguments.count == 0 || arguments.passes == 0) return;
  if (arguments.copy != nullptr) {
    launch<true>(native_stream(stream), arguments);
  } else {
    launch<false>(native_stream(stream), arguments);
  }
  check_launch("cache_kernel");
}

void launch_cache_reference(void* stream, const CacheArguments& arguments) {
  if (arguments.count == 0) return;
  const cudaStream_t queue = native_stream(stream);
  sums_kernel<<<grid_for(cache_chunks(arguments.count), kThreads), kThreads, 0, queue>>>(arguments);
  check_launch("sums_kernel");
  if (arguments.copy == nullptr) return;
  const cudaError_t status =
      cudaMemcpyAsync(arguments.copy, arguments.a, arguments.count * sizeof(float),
                      cudaMemcpyDeviceToDevice, queue);
  if (status != cudaSuccess) {
    throw DeviceError("E_CUDA",
                      std::string("copying the reference failed: ") + cudaGetErrorString(status));
  }
}

}  // namespace gpubench
