// SPDX-License-Identifier: Apache-2.0
// Enumeration, and a diagnosis that tells the ways a GPU can be missing apart.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>

#include "device/cuda/check.h"
#include "device/cuda/cuda_device.h"
#include "device/devices.h"
#include "gpubench/error.h"
#include "util/shared_library.h"
#include "util/text.h"

namespace gpubench {
namespace {

using Kind = CudaState::Kind;

constexpr const char* kCpuHint = "; `--device cpu` measures the host processor instead";

std::string version_text(int version) {
  if (version <= 0) return "unknown";
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

/// The loaded kernel module's version: the third party to a "version mismatch".
std::string kernel_driver_version() {
  std::ifstream file("/sys/module/nvidia/version");
  std::string version;
  return std::getline(file, version) ? valid_utf8(version) : "not loaded";
}

std::string visible_devices_note() {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible == nullptr) return {};
  return fmt::format(" (CUDA_VISIBLE_DEVICES is \"{}\")", valid_utf8(visible));
}

CudaState with(CudaState state, Kind kind, std::string message) {
  state.kind = kind;
  state.message = std::move(message) + kCpuHint;
  return state;
}

CudaState diagnose(const CudaState& state, cudaError_t status) {
  const std::string versions =
      fmt::format("driver supports CUDA {}, runtime is {}, kernel module {}",
                  version_text(state.driver_version), version_text(state.runtime_version),
                  kernel_driver_version());
  const std::string name = fmt::format("{} ({})", cudaGetErrorName(status), int{status});
  switch (status) {
    case cudaErrorNoDevice:
      return with(state, Kind::no_device,
                  fmt::format("the driver sees no usable GPU{}; check `nvidia-smi`, and in a "
                              "container that it was started with GPUs",
                              visible_devices_note()));
    case cudaErrorInsufficientDriver:
      return with(state, Kind::driver_too_old,
                  fmt::format("the driver is too old for this build: {}; install a newer driver, "
                              "or build with an older CUDA toolkit",
                              versions));
    case cudaErrorSystemNotReady:
      return with(state, Kind::not_ready,
                  fmt::format("{}: the system is not ready; on a machine with NVSwitch start the "
                              "fabric manager (nvidia-fabricmanager, of the driver's exact "
                              "version) and wait until it is up; {}",
                              name, versions));
    case cudaErrorSystemDriverMismatch:
      return with(state, Kind::error,
                  fmt::format("{}: libcuda and the kernel module are of different versions; load "
                              "the module that was installed, or reboot; {}",
                              name, versions));
    default:
      return with(state, Kind::error,
                  fmt::format("{}: {}; {}", name, cudaGetErrorString(status), versions));
  }
}

}  // namespace

CudaState cuda_state() {
  CudaState state;
  state.runtime_version = CUDART_VERSION;  // the runtime is linked statically
  // The driver's library is asked first: without any driver the runtime reports the same error as
  // with one that is too old.
  const LibrarySearch search = SharedLibrary::open({"libcuda.so.1"});
  if (!search.library) {
    return with(state, Kind::no_driver,
                fmt::format("no NVIDIA driver: libcuda.so.1 can't be loaded ({}); install the "
                            "driver, or start the container with GPUs",
                            join(search.searched, "; ")));
  }
  const auto driver_version = search.library->try_symbol<int (*)(int*)>("cuDriverGetVersion");
  if (driver_version == nullptr || driver_version(&state.driver_version) != 0) {
    return with(state, Kind::no_driver,
                fmt::format("{} is not a working driver library (a toolkit's stub?); install the "
                            "driver, or take that folder off the search path",
                            search.path));
  }
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return diagnose(state, status);
  }
  if (count == 0) return diagnose(state, cudaErrorNoDevice);
  state.kind = Kind::ok;
  return state;
}

std::vector<DeviceInfo> cuda_device_infos() {
  const CudaState state = cuda_state();
  if (state.kind != Kind::ok) throw DeviceError("E_NO_DEVICE", state.message);
  int count = 0;
  check(cudaGetDeviceCount(&count));
  std::vector<DeviceInfo> infos;
  infos.reserve(static_cast<std::size_t>(count));
  for (int ordinal = 0; ordinal < count; ++ordinal) infos.push_back(read_cuda_device_info(ordinal));
  return infos;
}

std::unique_ptr<Device> make_cuda_device(int ordinal) {
  const CudaState state = cuda_state();
  if (state.kind != Kind::ok) throw DeviceError("E_NO_DEVICE", state.message);
  return std::make_unique<CudaDevice>(ordinal);
}

}  // namespace gpubench
