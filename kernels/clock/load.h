// SPDX-License-Identifier: Apache-2.0
// Arithmetic and nothing else, on every SM, for a known number of operations: chains of additions
// of whole numbers, whose sum tells whether each one was done. `stream` is a cudaStream_t.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/clock/stamp.h"

namespace gpubench {

/// x = a x + b in FP32, a = 1.
constexpr int kFmaThreads = 1024;  ///< per block, one block per SM
constexpr int kFmaChains = 8;      ///< per thread
constexpr int kFmaPerStep = 32;    ///< of each chain: the loop's own instructions take issue slots

/// D += A B by mma.sync m16n8k16, BF16 with FP32 sums.
constexpr int kMmaWarps = 16;  ///< per block, one block per SM
constexpr int kMmaChains = 4;  ///< per warp, each with a B of its own
constexpr int kMmaPerStep = 4;
constexpr int kMmaM = 16, kMmaN = 8, kMmaK = 16;

struct ClockLoad {
  bool tensor = false;
  const float* a = nullptr;  ///< tensor: [m][k]
  const float* b = nullptr;  ///< tensor: [chain][k][n]; else [thread][chain]
  float* out = nullptr;      ///< tensor: [block][warp][chain][m][n]; else [block][thread][chain]
  int steps = 0;
  unsigned blocks = 0;
  ClockStamp* begin = nullptr;  ///< kMostSms each
  ClockStamp* end = nullptr;
};

// Random normal numbers become whole ones, so small that sums of a million stay exact in FP32.
constexpr float kMostIncrement = 12;
#ifdef __CUDACC__
#define GPUBENCH_CLOCK_HOST_DEVICE __host__ __device__
#else
#define GPUBENCH_CLOCK_HOST_DEVICE
#endif
GPUBENCH_CLOCK_HOST_DEVICE inline float fma_increment(float normal) {
  return rintf(fminf(fmaxf(2 * normal, -kMostIncrement), kMostIncrement));
}
GPUBENCH_CLOCK_HOST_DEVICE inline float mma_element(float normal) {
  return normal > 0.5f ? 1.f : normal < -0.5f ? -1.f : 0.f;
}
/// Where a chain starts.
GPUBENCH_CLOCK_HOST_DEVICE inline float chain_start(int index) {
  return static_cast<float>(index % 32);
}
#undef GPUBENCH_CLOCK_HOST_DEVICE

void launch_clock_load(void* stream, const ClockLoad& load);

}  // namespace gpubench
