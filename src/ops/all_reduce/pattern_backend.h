// SPDX-License-Identifier: Apache-2.0
// Filling with and checking against the pattern, once per kind of device.
#pragma once

#include "gpubench/device.h"
#include "kernels/all_reduce/pattern.h"

namespace gpubench {

struct PatternBackend {
  void (*fill)(Stream& stream, void* to, const ReducePattern& pattern, int rank,
               std::uint64_t count);
  PatternFaults (*check)(Device& device, Stream& stream, const void* out,
                         const ReducePattern& pattern, std::uint64_t count);
};

PatternBackend cpu_pattern_backend();
PatternBackend cuda_pattern_backend();  ///< only in builds with CUDA
PatternBackend pattern_backend(DeviceKind kind);

}  // namespace gpubench
