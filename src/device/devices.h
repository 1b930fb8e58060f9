// SPDX-License-Identifier: Apache-2.0
// Finds the devices of this machine and opens them. All of it exists in a build without a CUDA
// toolkit, where cuda_state() says so.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpubench/device.h"
#include "gpubench/device_info.h"

namespace gpubench {

/// Whether CUDA can be used here, and what to do where it can't.
struct CudaState {
  enum class Kind { ok, no_toolkit, no_driver, driver_too_old, no_device, not_ready, error };
  Kind kind = Kind::error;
  std::string message;      ///< for every kind but ok; ends with the hint about `--device cpu`
  int driver_version = 0;   ///< newest CUDA the driver supports, 12080 for 12.8; 0: none
  int runtime_version = 0;  ///< CUDA runtime in this executable; 0: built without
};

CudaState cuda_state();
/// Every visible GPU, in CUDA's order. Throws DeviceError E_NO_DEVICE with cuda_state().message.
std::vector<DeviceInfo> cuda_device_infos();
/// Opens the GPU and makes it current. Throws DeviceError.
std::unique_ptr<Device> make_cuda_device(int ordinal);

/// The host processor: model name, threads this process may use, memory, last-level cache.
DeviceInfo cpu_device_info();
std::unique_ptr<Device> make_cpu_device();

}  // namespace gpubench
