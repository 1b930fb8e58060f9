// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/check.h"

#include <string>
#include <string_view>

#include "gpubench/error.h"

namespace gpubench {
namespace {

struct Verdict {
  std::string_view code;
  std::string_view hint;
};

Verdict verdict(cudaError_t status) {
  switch (status) {
    case cudaErrorMemoryAllocation:
      return {"E_OOM", "smaller sizes, or fewer processes on this GPU, need less memory"};
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
      return {"E_NO_KERNEL_IMAGE",
              "this executable has no code for this GPU; build it with the GPU's architecture"};
    case cudaErrorDevicesUnavailable:
      return {"E_CUDA", "another process holds the GPU (exclusive compute mode?), or it is busy"};
    default:
      return {"E_CUDA", ""};
  }
}

}  // namespace

bool is_sticky(cudaError_t status) noexcept {
  switch (status) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorContextIsDestroyed:
    case cudaErrorMpsClientTerminated:
    case cudaErrorExternalDevice:
      return true;
    default:
      return false;
  }
}

void check(cudaError_t status, std::source_location where) {
  if (status == cudaSuccess) return;
  const bool sticky = is_sticky(status);
  // The runtime keeps the last error: the next check of a launch would report this one again.
  static_cast<void>(cudaGetLastError());
  const Verdict found = verdict(status);
  std::string message = std::string(cudaGetErrorName(status)) + ": " + cudaGetErrorString(status);
  if (!found.hint.empty()) message += "; " + std::string(found.hint);
  const std::string_view file = where.file_name();
  message += " (" + std::string(file.substr(file.find_last_of('/') + 1)) + ":" +
             std::to_string(where.line()) + ")";
  throw DeviceError(sticky ? "E_DEVICE_LOST" : std::string(found.code), message, sticky);
}

}  // namespace gpubench
