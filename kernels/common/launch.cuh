// SPDX-License-Identifier: Apache-2.0
// Small helpers of every launcher: grid sizes and the error check after a launch.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "gpubench/error.h"

namespace gpubench {

/// Throws if the launch just made was refused. Faults while it runs show in a later call.
inline void check_launch(const char* kernel) {
  const cudaError_t status = cudaGetLastError();
  if (status == cudaSuccess) return;
  throw DeviceError("E_LAUNCH", std::string("launch of ") + kernel + " failed: " +
                                    cudaGetErrorName(status) + ": " + cudaGetErrorString(status));
}

inline cudaStream_t native_stream(void* stream) { return static_cast<cudaStream_t>(stream); }

/// Blocks for a grid-stride loop over `items`: enough to fill any GPU, no more than needed.
inline unsigned grid_for(std::uint64_t items, unsigned threads) {
  constexpr std::uint64_t kMostBlocks = 4096;
  const std::uint64_t blocks = (items + threads - 1) / threads;
  return static_cast<unsigned>(std::clamp<std::uint64_t>(blocks, 1, kMostBlocks));
}

}  // namespace gpubench
