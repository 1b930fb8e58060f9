// SPDX-License-Identifier: Apache-2.0
// A kernel that does nothing, with arguments of a chosen size, for what launching costs.
#pragma once

#include <cstdint>

namespace gpubench {

/// What launches leave behind while they are checked; on the device.
struct LaunchTally {
  std::uint64_t launches = 0;
  std::uint64_t checksum = 0;  ///< of the arguments, see payload_checksum()
};

/// What goes wrong with one launch, on purpose.
enum class LaunchFault { none, wrong_byte, reversed_arguments };

/// Sizes of the arguments that there is a kernel for: the least, a usual and two large ones; 4096
/// is the most that every driver takes.
constexpr int kArgumentBytes[] = {8, 256, 1024, 4096};

/// Byte `index` of the arguments that follow the tally's pointer.
constexpr unsigned char payload_byte(int index) {
  return static_cast<unsigned char>(37 * index + 11);
}

/// What one launch adds to a tally: each byte weighed by its place, counted from 1.
constexpr std::uint64_t payload_checksum(int argument_bytes) {
  std::uint64_t sum = 0;
  for (int i = 0; i + 8 < argument_bytes; ++i) {
    sum += static_cast<std::uint64_t>(i + 1) * payload_byte(i);
  }
  return sum;
}

/// One thread. With a tally it counts itself there, else it ends at once: the same kernel, so that
/// what is measured is what was checked.
void launch_empty(void* stream, int argument_bytes, LaunchTally* tally, LaunchFault fault);

}  // namespace gpubench
