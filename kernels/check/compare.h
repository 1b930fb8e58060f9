// SPDX-License-Identifier: Apache-2.0
// Compares outputs of any storage type with a reference, on the device, in a fixed order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpubench/dtype.h"

namespace gpubench {

/// Written by launch_compare to the start of its workspace.
struct CompareResult {
  double reference_rms = 0;
  double max_error = 0;  ///< largest finite |out - ref| / (|ref| + rms)
  std::uint64_t max_index = 0;
  std::uint64_t bad = 0;        ///< elements above the tolerance or not finite
  std::uint64_t nonfinite = 0;  ///< elements where output or reference is not finite
  std::uint64_t first_bad = 0;  ///< lowest index of a bad element
  double first_out = 0;
  double first_reference = 0;
};

std::size_t compare_workspace_bytes();

struct CompareOptions {
  double tolerance = 0;
  std::uint64_t row = 0;  ///< elements of a row with its own rms; 0: one rms for all
  double row_floor = 0;   ///< least rms of a row, as a share of the whole's
  double least_rms = 0;   ///< least rms of anything
};

/// Ordered in `stream` (a cudaStream_t). The reference is FP64 beside FP64 and INT32, which FP32
/// can't hold, else FP32. `workspace`: compare_workspace_bytes(), aligned to 256.
void launch_compare(void* stream, Dtype dtype, const void* out, const void* reference,
                    std::uint64_t count, const CompareOptions& options, void* workspace);

}  // namespace gpubench
