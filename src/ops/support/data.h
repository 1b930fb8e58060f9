// SPDX-License-Identifier: Apache-2.0
// Filling and comparing, once per kind of device, behind fill_operand and compare_with_reference.
#pragma once

#include <cstdint>

#include "gpubench/device.h"
#include "gpubench/workload.h"

namespace gpubench {

struct FillRequest {
  Dtype dtype = Dtype::fp32;
  DataDist data = DataDist::normal;
  double scale = 1;
  std::uint64_t seed = 1;
  std::uint64_t stream = 0;  ///< random stream of the seed
  std::uint64_t count = 0;
};

/// What a comparison found; see Check for `error`.
struct Difference {
  double max_error = 0;         ///< largest finite error
  std::uint64_t bad = 0;        ///< elements above the tolerance or not finite
  std::uint64_t nonfinite = 0;  ///< elements where output or reference is not finite
  std::uint64_t first_bad = 0;
  double first_out = 0;
  double first_reference = 0;
};

struct CompareRequest {
  Dtype dtype = Dtype::fp32;  ///< that `out` is stored as
  std::uint64_t count = 0;
  std::uint64_t row = 0;  ///< Operand::row
  double least_rms = 0;   ///< Operand::least_rms
  double tolerance = 0;
};

/// What a comparison of bits found. On the device; grows with every comparison.
struct DifferingBits {
  std::uint64_t words = 0;                   ///< of 32 bits, a shorter rest counting as one
  std::uint64_t first_byte = kNoDifference;  ///< lowest offset of a differing word

  static constexpr std::uint64_t kNoDifference = ~std::uint64_t{0};
};

/// A row's rms counts as at least this share of the whole's: rows of zeros exist.
constexpr double kRowRmsFloor = 0.01;

struct DataBackend {
  void (*fill)(Stream& stream, void* to, const FillRequest& request);
  /// `reference` is of reference_dtype(request.dtype).
  Difference (*compare)(Device& device, Stream& stream, const void* out, const void* reference,
                        const CompareRequest& request);
  /// Ordered in the stream, does not wait; `found` is on the device.
  void (*compare_bits)(Stream& stream, const void* a, const void* b, std::uint64_t bytes,
                       DifferingBits* found);
};

DataBackend cpu_data_backend();
DataBackend cuda_data_backend();  ///< only in builds with CUDA
const DataBackend& data_backend(DeviceKind kind);

}  // namespace gpubench
