// SPDX-License-Identifier: Apache-2.0
// Copy through shared memory by the bulk copy engine (sm_90 and newer).
#pragma once

#include <cstdint>

namespace gpubench {

/// Bytes that the engine moves at a time; launch_bulk_copy takes whole multiples.
constexpr std::uint64_t kBulkCopyChunk = 32 << 10;

/// True where the current device has the engine.
bool has_bulk_copy();

/// `to` and `from` aligned to 16 bytes, `chunks` of kBulkCopyChunk bytes. `stream` is a
/// cudaStream_t.
void launch_bulk_copy(void* stream, void* to, const void* from, std::uint64_t chunks);

}  // namespace gpubench
