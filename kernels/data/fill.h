// SPDX-License-Identifier: Apache-2.0
// Fills device memory with seeded numbers in FP64, INT8 and every smaller floating type.
#pragma once

#include <cstdint>

#include "gpubench/dtype.h"

namespace gpubench {

enum class FillKind { normal, uniform, zeros, ones };

struct FillSpec {
  FillKind kind = FillKind::normal;
  Dtype dtype = Dtype::fp32;  ///< values are rounded to it: nearest even, FP8 and INT8 saturating
  double scale = 1;           ///< factor before rounding, for every kind
  std::uint64_t seed = 1;
  std::uint64_t stream = 0;  ///< different streams of one seed are independent
  std::uint64_t count = 0;
};

/// `stream` is a cudaStream_t; `to` is aligned to 16 bytes.
void launch_fill(void* stream, void* to, const FillSpec& spec);

}  // namespace gpubench
