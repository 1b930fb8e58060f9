// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/cuda_device.h"

#include <cuda_profiler_api.h>
#include <fmt/format.h>
#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <thread>

#include "device/cuda/check.h"
#include "device/select.h"
#include "gpubench/error.h"
#include "util/text.h"

namespace gpubench {
namespace {

/// How long recovery waits for work under way before it calls the device hung.
constexpr std::chrono::seconds kRecoverTimeout{2};

std::string uuid_text(const cudaUUID_t& uuid, bool mig) {
  std::string text = mig ? "MIG-" : "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

std::string compute_mode_text(int mode) {
  switch (mode) {
    case cudaComputeModeDefault:
      return "default";
    case cudaComputeModeExclusiveProcess:
      return "exclusive_process";
    case cudaComputeModeProhibited:
      return "prohibited";
    default:
      return {};
  }
}

/// nullopt where the driver does not know the attribute.
std::optional<int> attribute(cudaDeviceAttr name, int ordinal) {
  int value = 0;
  if (cudaDeviceGetAttribute(&value, name, ordinal) == cudaSuccess) return value;
  static_cast<void>(cudaGetLastError());
  return std::nullopt;
}

/// Clocks are attributes in kHz: CUDA 13 removed them from cudaDeviceProp. 0 means unknown.
std::optional<double> clock_mhz(cudaDeviceAttr name, int ordinal) {
  const std::optional<int> khz = attribute(name, ordinal);
  if (!khz || *khz <= 0) return std::nullopt;
  return *khz * 1e-3;
}

}  // namespace

DeviceInfo read_cuda_device_info(int ordinal) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, ordinal));
  DeviceInfo info;
  info.kind = DeviceKind::cuda;
  info.index = ordinal;
  info.name = valid_utf8(properties.name);
  // An instance's name is the parent's with its profile; its UUID is its own, its PCI id the
  // parent's.
  const bool instance = info.name.find(" MIG ") != std::string::npos;
  if (instance) info.mig = true;
  info.uuid = uuid_text(properties.uuid, instance);
  std::array<char, 32> pci{};
  check(cudaDeviceGetPCIBusId(pci.data(), static_cast<int>(pci.size()), ordinal));
  info.pci_id = normal_pci_id(pci.data());
  info.cc_major = properties.major;
  info.cc_minor = properties.minor;
  info.sm_count = properties.multiProcessorCount;
  info.memory_bytes = properties.totalGlobalMem;
  info.l2_bytes = static_cast<std::uint64_t>(std::max(properties.l2CacheSize, 0));
  info.max_sm_clock_mhz = clock_mhz(cudaDevAttrClockRate, ordinal);
  info.memory_clock_mhz = clock_mhz(cudaDevAttrMemoryClockRate, ordinal);
  if (const auto bits = attribute(cudaDevAttrGlobalMemoryBusWidth, ordinal); bits && *bits > 0) {
    info.bus_bits = *bits;
  }
  if (const auto ecc = attribute(cudaDevAttrEccEnabled, ordinal)) info.ecc_enabled = *ecc != 0;
  info.compute_mode = compute_mode_text(attribute(cudaDevAttrComputeMode, ordinal).value_or(-1));
  return info;
}

CudaDevice::CudaDevice(int ordinal) : info_(read_cuda_device_info(ordinal)) {
  activate();
  // Makes the context now, so that the first case neither pays for it nor is blamed for its
  // failure.
  check(cudaFree(nullptr));
}

void CudaDevice::activate() { check(cudaSetDevice(info_.index)); }

std::unique_ptr<Stream> CudaDevice::make_stream() {
  activate();
  return std::make_unique<CudaStream>(streams_);
}

std::unique_ptr<Event> CudaDevice::make_event() {
  activate();
  return std::make_unique<CudaEvent>();
}

std::unique_ptr<Graph> CudaDevice::capture(Stream& stream, const std::function<void()>& enqueue) {
  activate();
  return capture_graph(stream, enqueue);
}

void* CudaDevice::allocate(std::size_t bytes) {
  activate();
  void* memory = nullptr;
  // Zero bytes would give a null pointer, which means "no memory" everywhere else.
  const cudaError_t status = cudaMalloc(&memory, std::max<std::size_t>(bytes, 1));
  if (status == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());
    const MemoryState state = this->memory();
    throw DeviceError("E_OOM", fmt::format("{} of GPU memory are needed, {} of {} are free; choose "
                                           "smaller sizes, or end other processes on this GPU",
                                           format_gib(bytes), format_gib(state.free_bytes),
                                           format_gib(state.total_bytes)));
  }
  check(status);
  return memory;
}

void CudaDevice::release(void* memory) noexcept { static_cast<void>(cudaFree(memory)); }

void CudaDevice::copy_to_device(Stream& stream, void* to, const void* from, std::size_t bytes) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, native(stream)));
  // Whether the host side may be reused before the copy has ended depends on how it was allocated
  // and on the platform; waiting makes the promise hold everywhere.
  stream.synchronize();
}

void CudaDevice::copy_to_host(Stream& stream, void* to, const void* from, std::size_t bytes) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, native(stream)));
  stream.synchronize();
}

void CudaDevice::copy_on_device(Stream& stream, void* to, const void* from, std::size_t bytes) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, native(stream)));
}

void CudaDevice::fill_bytes(Stream& stream, void* to, int byte, std::size_t bytes) {
  check(cudaMemsetAsync(to, byte, bytes, native(stream)));
}

MemoryState CudaDevice::memory() {
  activate();
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  check(cudaMemGetInfo(&free_bytes, &total_bytes));
  return {free_bytes, total_bytes};
}

bool CudaDevice::recover() noexcept {
  try {
    static_cast<void>(cudaGetLastError());
    activate();
    // A stream reports a sticky error when it is asked; one that stays busy hangs, and a
    // cudaDeviceSynchronize would hang with it.
    const auto deadline = std::chrono::steady_clock::now() + kRecoverTimeout;
    for (const cudaStream_t stream : streams_->streams()) {
      cudaError_t status = cudaStreamQuery(stream);
      while (status == cudaErrorNotReady && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        status = cudaStreamQuery(stream);
      }
      if (status == cudaErrorNotReady || is_sticky(status)) return false;
      static_cast<void>(cudaGetLastError());
    }
    void* probe = nullptr;
    if (cudaMalloc(&probe, 256) != cudaSuccess)
      return cudaGetLastError() == cudaErrorMemoryAllocation;
    const bool works =
        cudaMemset(probe, 0, 256) == cudaSuccess && cudaStreamSynchronize(nullptr) == cudaSuccess;
    return cudaFree(probe) == cudaSuccess && works && cudaGetLastError() == cudaSuccess;
  } catch (...) {
    return false;
  }
}

void CudaDevice::begin_profile(const std::string& name) {
  activate();
  nvtxRangePushA(name.c_str());
  check(cudaProfilerStart());
}

void CudaDevice::end_profile() {
  check(cudaProfilerStop());
  nvtxRangePop();
}

}  // namespace gpubench
