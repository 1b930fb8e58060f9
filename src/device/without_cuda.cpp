// SPDX-License-Identifier: Apache-2.0
// What src/device/cuda defines, in a build without a CUDA toolkit.
#if !GPUBENCH_HAS_CUDA

#include "device/devices.h"
#include "gpubench/error.h"

namespace gpubench {

CudaState cuda_state() {
  return {CudaState::Kind::no_toolkit,
          "this executable was built without a CUDA toolkit; build it with one (12.4 or newer) to "
          "measure GPUs; `--device cpu` measures the host processor instead",
          0, 0};
}

std::vector<DeviceInfo> cuda_device_infos() {
  throw DeviceError("E_NO_DEVICE", cuda_state().message);
}

std::unique_ptr<Device> make_cuda_device(int) {
  throw DeviceError("E_NO_DEVICE", cuda_state().message);
}

}  // namespace gpubench

#endif
