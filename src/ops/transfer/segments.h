// SPDX-License-Identifier: Apache-2.0
// The copies that make up one transfer: one, or with a planted fault several that leave something
// wrong behind.
#pragma once

#include <cstdint>
#include <vector>

#include "gpubench/workload.h"
#include "kernels/transfer/pattern.h"

namespace gpubench {

struct Segment {
  std::uint64_t to = 0;
  std::uint64_t from = 0;
  std::uint64_t bytes = 0;
  bool from_spoilt = false;  ///< `from` counts from the spoilt bytes that lie beside the data
};

/// Bytes of 0xFF beside the source: what a NaN is made of.
constexpr std::uint64_t kSpoiltBytes = 256;

std::vector<Segment> transfer_segments(std::uint64_t bytes, Fault fault,
                                       const BytePattern& pattern);

}  // namespace gpubench
