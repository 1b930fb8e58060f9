// SPDX-License-Identifier: Apache-2.0
// What Linux says of the processor and its memory. The root is a parameter, so that tests bring
// their own files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "gpubench/device.h"

namespace gpubench {

/// "Intel(R) Xeon(R) ...", or the machine type where /proc/cpuinfo has no model name (Arm).
std::string processor_name(const std::filesystem::path& root = "/");

/// Hardware threads that this process may run on (its affinity).
int usable_threads();

/// Of the largest cache level; 0 where unknown (often so in virtual machines).
std::uint64_t last_level_cache_bytes(const std::filesystem::path& root = "/");

/// Memory that can be had without swapping or waking the OOM killer: the least of what the machine
/// has available and what the control group's limit (version 2 or 1) leaves.
MemoryState host_memory(const std::filesystem::path& root = "/");

}  // namespace gpubench
