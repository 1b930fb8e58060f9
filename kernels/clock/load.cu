// SPDX-License-Identifier: Apache-2.0
#include <cuda_bf16.h>

#include "kernels/clock/load.h"
#include "kernels/clock/stamp.cuh"
#include "kernels/common/launch.cuh"

namespace gpubench {
namespace {

constexpr int kWarp = 32;

/// `one` is 1 and an argument, so that the compiler can't make an addition of it.
__global__ void __launch_bounds__(kFmaThreads) fma_kernel(ClockLoad load, float one) {
  const int thread = static_cast<int>(threadIdx.x);
  float x[kFmaChains], increment[kFmaChains];
#pragma unroll
  for (int chain = 0; chain < kFmaChains; ++chain) {
    increment[chain] = fma_increment(load.b[thread * kFmaChains + chain]);
    x[chain] = chain_start(thread + chain);
  }
  if (thread == 0) write_stamp(load.begin);
  __syncthreads();
  for (int step = 0; step < load.steps; ++step) {
#pragma unroll
    for (int i = 0; i < kFmaPerStep; ++i) {
#pragma unroll
      for (int chain = 0; chain < kFmaChains; ++chain) {
        x[chain] = fmaf(x[chain], one, increment[chain]);
      }
    }
  }
  __syncthreads();
  if (thread == 0) write_stamp(load.end);
  float* out = load.out + (std::int64_t{blockIdx.x} * kFmaThreads + thread) * kFmaChains;
#pragma unroll
  for (int chain = 0; chain < kFmaChains; ++chain) out[chain] = x[chain];
}

/// Two neighbours of a row, the first in the low half.
__device__ std::uint32_t pair(float low, float high) {
  const __nv_bfloat162 both =
      __halves2bfloat162(__float2bfloat16(mma_element(low)), __float2bfloat16(mma_element(high)));
  return *reinterpret_cast<const std::uint32_t*>(&both);
}

__device__ void multiply_add(float (&d)[4], const std::uint32_t (&a)[4],
                             const std::uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/// Fragments as the PTX manual lays them out ("Matrix Fragments for mma.m16n8k16"): of each group
/// of four threads, thread t has columns 2t and 2t + 1, and again 8 further.
__global__ void __launch_bounds__(kMmaWarps* kWarp) mma_kernel(ClockLoad load) {
  const int thread = static_cast<int>(threadIdx.x);
  const int warp = thread / kWarp, lane = thread % kWarp;
  const int group = lane / 4, column = 2 * (lane % 4);
  std::uint32_t a[4];
  for (int i = 0; i < 4; ++i) {
    const float* row = load.a + (group + 8 * (i % 2)) * kMmaK + column + 8 * (i / 2);
    a[i] = pair(row[0], row[1]);
  }
  std::uint32_t b[kMmaChains][2];
  float d[kMmaChains][4];
#pragma unroll
  for (int chain = 0; chain < kMmaChains; ++chain) {
    const float* matrix = load.b + chain * kMmaK * kMmaN + group;
    for (int i = 0; i < 2; ++i) {
      const int k = column + 8 * i;
      b[chain][i] = pair(matrix[k * kMmaN], matrix[(k + 1) * kMmaN]);
    }
    for (int i = 0; i < 4; ++i) d[chain][i] = chain_start(warp + chain);
  }
  if (thread == 0) write_stamp(load.begin);
  __syncthreads();
  for (int step = 0; step < load.steps; ++step) {
#pragma unroll
    for (int i = 0; i < kMmaPerStep; ++i) {
#pragma unroll
      for (int chain = 0; chain < kMmaChains; ++chain) multiply_add(d[chain], a, b[chain]);
    }
  }
  __syncthreads();
  if (thread == 0) write_stamp(load.end);
  float* out =
      load.out + (std::int64_t{blockIdx.x} * kMmaWarps + warp) * kMmaChains * kMmaM * kMmaN;
#pragma unroll
  for (int chain = 0; chain < kMmaChains; ++chain) {
    for (int i = 0; i < 4; ++i) {
      const int row = group + 8 * (i / 2);
      out[(chain * kMmaM + row) * kMmaN + column + i % 2] = d[chain][i];
    }
  }
}

}  // namespace

void launch_clock_load(void* stream, const ClockLoad& load) {
  const cudaStream_t queue = native_stream(stream);
  if (load.tensor) {
    mma_kernel<<<load.blocks, kMmaWarps * kWarp, 0, queue>>>(load);
  } else {
    fma_kernel<<<load.blocks, kFmaThreads, 0, queue>>>(load, 1.f);
  }
  check_launch(load.tensor ? "mma_kernel" : "fma_kernel");
}

}  // namespace gpubench
