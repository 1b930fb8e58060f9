// SPDX-License-Identifier: Apache-2.0
// Random bytes that host and device make each for itself, so that what arrives is compared without
// being transferred again.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpubench/workload.h"
#include "kernels/transfer/pattern.h"

namespace gpubench {

/// The pattern of a distribution: random words, or a constant for zeros and (FP32) ones.
BytePattern byte_pattern(DataDist data, std::uint64_t seed, std::uint64_t stream);

void fill_bytes(std::byte* to, std::uint64_t bytes, const BytePattern& pattern);
/// Compares every byte.
ByteDifference compare_bytes(const std::byte* found, std::uint64_t bytes,
                             const BytePattern& pattern);

}  // namespace gpubench
