// SPDX-License-Identifier: Apache-2.0
// Turns a CUDA runtime error into a DeviceError that says where, what and what to do.
#pragma once

#include <cuda_runtime_api.h>

#include <source_location>

namespace gpubench {

/// True for errors after which the context, and with it the device, is lost for this process.
bool is_sticky(cudaError_t status) noexcept;

/// Throws DeviceError: E_OOM, E_NO_KERNEL_IMAGE, E_DEVICE_LOST (sticky) or E_CUDA. A non-sticky
/// error is cleared, so that the next call does not report it again.
void check(cudaError_t status, std::source_location where = std::source_location::current());

}  // namespace gpubench
