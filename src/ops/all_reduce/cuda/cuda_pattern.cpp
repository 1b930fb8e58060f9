// SPDX-License-Identifier: Apache-2.0
// The pattern on a CUDA device, by our own kernels.
#include "ops/all_reduce/pattern_backend.h"

namespace gpubench {
namespace {

PatternFaults check(Device& device, Stream& stream, const void* out, const ReducePattern& pattern,
                    std::uint64_t count) {
  const Buffer found(device, sizeof(PatternFaults));
  launch_pattern_check(stream.native(), out, pattern, count, found.data());
  PatternFaults faults;
  device.copy_to_host(stream, &faults, found.data(), sizeof(faults));
  return faults;
}

void fill(Stream& stream, void* to, const ReducePattern& pattern, int rank, std::uint64_t count) {
  launch_pattern_fill(stream.native(), to, pattern, rank, count);
}

}  // namespace

PatternBackend cuda_pattern_backend() { return {fill, check}; }

}  // namespace gpubench
