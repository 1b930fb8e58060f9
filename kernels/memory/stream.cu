// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "kernels/common/launch.cuh"
#include "kernels/memory/stream.h"

namespace gpubench {
namespace {

enum class Cache { normal, streaming };

struct Variant {
  int threads;
  int vectors;          // 16-byte loads in flight per thread and array
  int tiles_per_block;  // 0: as many blocks as fit the GPU at once, tiles dealt out in turn
  Cache cache;
};

// A tile is threads x vectors x 16 bytes. H200 needs some 30 KB in flight per SM to hide its
// memory's latency. Where a stream is written too, small tiles win: what all SMs have under way
// then lies close together. Entry 0 stands for fastest_variant().
constexpr std::array<Variant, kStreamVariants> kVariants{{{},
                                                          {256, 1, 1, Cache::streaming},
                                                          {1024, 1, 1, Cache::streaming},
                                                          {1024, 4, 1, Cache::streaming},
                                                          {512, 2, 1, Cache::streaming},
                                                          {512, 2, 1, Cache::normal},
                                                          {512, 4, 1, Cache::streaming},
                                                          {512, 4, 0, Cache::streaming},
                                                          {256, 1, 1, Cache::normal}}};

constexpr unsigned kWarp = 32;

template <Cache kCache>
__device__ float4 load(const float4* from) {
  return kCache == Cache::streaming ? __ldcs(from) : *from;
}

template <Cache kCache>
__device__ void store(float4* to, float4 value) {
  if constexpr (kCache == Cache::streaming) {
    __stcs(to, value);
  } else {
    *to = value;
  }
}

template <StreamKernel kKernel>
__device__ float combine(float a, float b, float scalar) {
  if constexpr (kKernel == StreamKernel::copy) return a;
  if constexpr (kKernel == StreamKernel::scale) return scalar * a;
  return fmaf(scalar, b, a);
}

template <StreamKernel kKernel>
__device__ float4 combine(float4 a, float4 b, float scalar) {
  return {combine<kKernel>(a.x, b.x, scalar), combine<kKernel>(a.y, b.y, scalar),
          combine<kKernel>(a.z, b.z, scalar), combine<kKernel>(a.w, b.w, scalar)};
}

/// Which tiles a block works on: first, first + step, ... `tiles` of them.
struct TilePlan {
  unsigned tiles_per_block;
  unsigned block_stride;  // tiles from a block's first tile to the next block's
  unsigned step;
};

template <StreamKernel kKernel, int kVectors, Cache kCache>
__global__ void stream_kernel(StreamArguments arguments, TilePlan plan) {
  constexpr bool kReadsB = kKernel == StreamKernel::triad;
  const auto* a = reinterpret_cast<const float4*>(arguments.a);
  const auto* b = reinterpret_cast<const float4*>(arguments.b);
  auto* out = reinterpret_cast<float4*>(arguments.out);
  const std::uint64_t vectors = arguments.count / 4;
  const std::uint64_t tile_vectors = std::uint64_t{blockDim.x} * kVectors;
  std::uint64_t tile = std::uint64_t{blockIdx.x} * plan.block_stride;
  for (unsigned t = 0; t < plan.tiles_per_block; ++t, tile += plan.step) {
    const std::uint64_t begin = tile * tile_vectors + threadIdx.x;
    if ((tile + 1) * tile_vectors <= vectors) {
      // All loads before the first store: that is what keeps them in flight together.
      float4 a_values[kVectors], b_values[kVectors];
#pragma unroll
      for (int i = 0; i < kVectors; ++i) {
        a_values[i] = load<kCache>(a + begin + i * blockDim.x);
        b_values[i] = kReadsB ? load<kCache>(b + begin + i * blockDim.x) : a_values[i];
      }
#pragma unroll
      for (int i = 0; i < kVectors; ++i) {
        store<kCache>(out + begin + i * blockDim.x,
                      combine<kKernel>(a_values[i], b_values[i], arguments.scalar));
      }
    } else {
      for (std::uint64_t i = begin; i < vectors && i < begin + tile_vectors; i += blockDim.x) {
        out[i] = combine<kKernel>(a[i], kReadsB ? b[i] : a[i], arguments.scalar);
      }
    }
  }
  // The last one to three elements.
  const std::uint64_t last = 4 * vectors + threadIdx.x;
  if (blockIdx.x == 0 && last < arguments.count) {
    arguments.out[last] =
        combine<kKernel>(arguments.a[last], kReadsB ? arguments.b[last] : 0.f, arguments.scalar);
  }
}

/// Sum over the block, valid in thread 0.
__device__ float reduce_block(float value) {
  __shared__ float warp_sums[kWarp];
  for (unsigned offset = kWarp / 2; offset > 0; offset /= 2) {
    value += __shfl_down_sync(0xffffffffu, value, offset);
  }
  if (threadIdx.x % kWarp == 0) warp_sums[threadIdx.x / kWarp] = value;
  __syncthreads();
  if (threadIdx.x >= kWarp) return 0;
  value = threadIdx.x < blockDim.x / kWarp ? warp_sums[threadIdx.x] : 0.f;
  for (unsigned offset = kWarp / 2; offset > 0; offset /= 2) {
    value += __shfl_down_sync(0xffffffffu, value, offset);
  }
  return value;
}

/// One block per chunk.
template <int kVectors, Cache kCache>
__global__ void read_kernel(StreamArguments arguments) {
  constexpr std::uint64_t kChunkVectors = kReadChunk / 4;
  const float* chunk = arguments.a + blockIdx.x * kReadChunk;
  const auto* vectors = reinterpret_cast<const float4*>(chunk);
  const std::uint64_t left = arguments.count - blockIdx.x * kReadChunk;
  float sum = 0;
  if (left >= kReadChunk) {
    float4 sums{};
    for (std::uint64_t i = threadIdx.x; i < kChunkVectors;
         i += std::uint64_t{blockDim.x} * kVectors) {
      float4 values[kVectors];
#pragma unroll
      for (int j = 0; j < kVectors; ++j) values[j] = load<kCache>(vectors + i + j * blockDim.x);
#pragma unroll
      for (int j = 0; j < kVectors; ++j) {
        sums.x += values[j].x;
        sums.y += values[j].y;
        sums.z += values[j].z;
        sums.w += values[j].w;
      }
    }
    sum = (sums.x + sums.y) + (sums.z + sums.w);
  } else {
    for (std::uint64_t i = threadIdx.x; i < left; i += blockDim.x) sum += chunk[i];
  }
  sum = reduce_block(sum);
  if (threadIdx.x == 0) arguments.out[blockIdx.x] = sum;
}

template <StreamKernel kKernel, int kVectors, Cache kCache>
void launch_tiles(cudaStream_t stream, const StreamArguments& arguments, const Variant& variant) {
  const auto threads = static_cast<unsigned>(variant.threads);
  const std::uint64_t tile_elements = std::uint64_t{4} * kVectors * threads;
  const auto tiles = static_cast<unsigned>((arguments.count + tile_elements - 1) / tile_elements);
  TilePlan plan{};
  unsigned blocks = 0;
  if (variant.tiles_per_block > 0) {
    plan.tiles_per_block = static_cast<unsigned>(variant.tiles_per_block);
    plan.block_stride = plan.tiles_per_block;
    plan.step = 1;
    blocks = (tiles + plan.tiles_per_block - 1) / plan.tiles_per_block;
  } else {
    int device = 0, sms = 1, blocks_per_sm = 1;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &blocks_per_sm, stream_kernel<kKernel, kVectors, kCache>, variant.threads, 0);
    check_launch("the occupancy query of stream_kernel");
    blocks = std::clamp(static_cast<unsigned>(sms * blocks_per_sm), 1u, std::max(tiles, 1u));
    plan = {(tiles + blocks - 1) / blocks, 1, blocks};
  }
  stream_kernel<kKernel, kVectors, kCache>
      <<<std::max(blocks, 1u), threads, 0, stream>>>(arguments, plan);
}

template <int kVectors, Cache kCache>
void launch_variant(cudaStream_t stream, const StreamArguments& arguments, const Variant& variant) {
  switch (arguments.kernel) {
    case StreamKernel::copy:
      return launch_tiles<StreamKernel::copy, kVectors, kCache>(stream, arguments, variant);
    case StreamKernel::scale:
      return launch_tiles<StreamKernel::scale, kVectors, kCache>(stream, arguments, variant);
    case StreamKernel::triad:
      return launch_tiles<StreamKernel::triad, kVectors, kCache>(stream, arguments, variant);
    case StreamKernel::read: {
      const auto chunks = static_cast<unsigned>((arguments.count + kReadChunk - 1) / kReadChunk);
      read_kernel<kVectors, kCache>
          <<<chunks, static_cast<unsigned>(variant.threads), 0, stream>>>(arguments);
      return;
    }
  }
}

/// Measured on an H200 (docs/measurements.md, "Memory").
int fastest_variant(StreamKernel kernel) {
  switch (kernel) {
    case StreamKernel::read:
      return 3;
    default:
      return 8;
  }
}

const Variant& variant_at(int variant) {
  if (variant < 0 || variant >= kStreamVariants) {
    throw ConfigError("variant " + std::to_string(variant) +
                      " of the memory kernels; there are 0 to " +
                      std::to_string(kStreamVariants - 1));
  }
  return kVariants[static_cast<std::size_t>(variant)];
}

}  // namespace

std::string describe_stream_variant(StreamKernel kernel, int variant) {
  const Variant& v = variant_at(variant == 0 ? fastest_variant(kernel) : variant);
  const std::string tiles = v.tiles_per_block == 0
                                ? "persistent"
                                : std::to_string(v.tiles_per_block) + " tile(s) per block";
  return std::to_string(v.threads) + " threads x " + std::to_string(v.vectors) + " vectors, " +
         tiles + (v.cache == Cache::streaming ? ", streaming" : ", cached");
}

void launch_stream(void* stream, StreamArguments arguments) {
  if (arguments.variant == 0) arguments.variant = fastest_variant(arguments.kernel);
  if (arguments.count == 0) return;
  const Variant& variant = variant_at(arguments.variant);
  const cudaStream_t queue = native_stream(stream);
  const bool streaming = variant.cache == Cache::streaming;
  const auto launch = [&](auto vectors) {
    constexpr int kVectors = decltype(vectors)::value;
    if (streaming) return launch_variant<kVectors, Cache::streaming>(queue, arguments, variant);
    return launch_variant<kVectors, Cache::normal>(queue, arguments, variant);
  };
  if (variant.vectors == 1) {
    launch(std::integral_constant<int, 1>{});
  } else if (variant.vectors == 2) {
    launch(std::integral_constant<int, 2>{});
  } else {
    launch(std::integral_constant<int, 4>{});
  }
  check_launch("stream_kernel");
}

}  // namespace gpubench
