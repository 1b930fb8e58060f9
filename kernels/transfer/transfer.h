// SPDX-License-Identifier: Apache-2.0
// Device code of transfers: the pattern's bytes on the device, comparing with it there, and a copy
// by a kernel that reads or writes the host's memory itself. `stream` is a cudaStream_t.
#pragma once

#include <cstddef>

#include "kernels/transfer/pattern.h"

namespace gpubench {

/// `to` and `found` are aligned to 16 bytes.
void launch_pattern_fill(void* stream, std::byte* to, std::uint64_t bytes,
                         const BytePattern& pattern);
/// `result` is on the device and is reset first.
void launch_pattern_compare(void* stream, const std::byte* found, std::uint64_t bytes,
                            const BytePattern& pattern, ByteDifference* result);

/// Any alignment; 16 bytes at a time where both sides have it. `blocks` of kCopyThreads threads:
/// few enough that a copy of the other direction runs at the same time.
constexpr unsigned kCopyThreads = 512;
void launch_mapped_copy(void* stream, std::byte* to, const std::byte* from, std::uint64_t bytes,
                        unsigned blocks);

}  // namespace gpubench
