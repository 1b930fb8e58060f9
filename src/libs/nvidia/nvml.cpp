// SPDX-License-Identifier: Apache-2.0
#include "libs/nvidia/nvml.h"

#include <fmt/format.h>

#include <array>

#include "gpubench/error.h"
#include "util/text.h"

namespace gpubench {
namespace {

NvmlFunctions load_functions(const SharedLibrary& library) {
  NvmlFunctions nvml{};
  const auto need = [&library](auto& function, const char* name) {
    function = library.symbol<std::remove_reference_t<decltype(function)>>(name);
  };
  const auto may = [&library](auto& function, const char* name) {
    function = library.try_symbol<std::remove_reference_t<decltype(function)>>(name);
  };
  need(nvml.init, "nvmlInit_v2");
  need(nvml.shutdown, "nvmlShutdown");
  need(nvml.error_string, "nvmlErrorString");
  need(nvml.driver_version, "nvmlSystemGetDriverVersion");
  need(nvml.nvml_version, "nvmlSystemGetNVMLVersion");
  need(nvml.handle_by_uuid, "nvmlDeviceGetHandleByUUID");
  need(nvml.handle_by_pci, "nvmlDeviceGetHandleByPciBusId_v2");
  need(nvml.uuid, "nvmlDeviceGetUUID");
  need(nvml.pci_info, "nvmlDeviceGetPciInfo_v3");
  need(nvml.clock, "nvmlDeviceGetClockInfo");
  need(nvml.power_usage, "nvmlDeviceGetPowerUsage");
  need(nvml.temperature, "nvmlDeviceGetTemperature");
  may(nvml.event_reasons, "nvmlDeviceGetCurrentClocksEventReasons");
  if (nvml.event_reasons == nullptr) {
    may(nvml.event_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
  }
  may(nvml.field_values, "nvmlDeviceGetFieldValues");
  may(nvml.max_clock, "nvmlDeviceGetMaxClockInfo");
  may(nvml.memory_bus_width, "nvmlDeviceGetMemoryBusWidth");
  may(nvml.power_limit, "nvmlDeviceGetPowerManagementLimit");
  may(nvml.default_power_limit, "nvmlDeviceGetPowerManagementDefaultLimit");
  may(nvml.pcie_gen, "nvmlDeviceGetCurrPcieLinkGeneration");
  may(nvml.pcie_width, "nvmlDeviceGetCurrPcieLinkWidth");
  may(nvml.pcie_max_gen, "nvmlDeviceGetMaxPcieLinkGeneration");
  may(nvml.pcie_max_width, "nvmlDeviceGetMaxPcieLinkWidth");
  may(nvml.ecc_mode, "nvmlDeviceGetEccMode");
  may(nvml.mig_mode, "nvmlDeviceGetMigMode");
  may(nvml.compute_mode, "nvmlDeviceGetComputeMode");
  may(nvml.total_energy, "nvmlDeviceGetTotalEnergyConsumption");
  may(nvml.violation, "nvmlDeviceGetViolationStatus");
  may(nvml.ecc_errors, "nvmlDeviceGetTotalEccErrors");
  may(nvml.remapped_rows, "nvmlDeviceGetRemappedRows");
  may(nvml.pcie_replays, "nvmlDeviceGetPcieReplayCounter");
  may(nvml.nvlink_state, "nvmlDeviceGetNvLinkState");
  may(nvml.processes, "nvmlDeviceGetComputeRunningProcesses_v3");
  may(nvml.virtualization_mode, "nvmlDeviceGetVirtualizationMode");
  may(nvml.gpm_support, "nvmlGpmQueryDeviceSupport");
  may(nvml.gpm_alloc, "nvmlGpmSampleAlloc");
  may(nvml.gpm_free, "nvmlGpmSampleFree");
  may(nvml.gpm_sample, "nvmlGpmSampleGet");
  may(nvml.gpm_metrics, "nvmlGpmMetricsGet");
  return nvml;
}

/// What a "char* buffer, unsigned length" function writes; empty where it fails.
template <class Call>
std::string text_of(Call call) {
  std::array<char, 256> text{};
  return call(text.data(), static_cast<unsigned int>(text.size())) == NVML_SUCCESS
             ? valid_utf8(text.data())
             : std::string();
}

}  // namespace

NvmlApi::NvmlApi(SharedLibrary library)
    : library_(std::move(library)), functions_(load_functions(library_)) {
  const nvmlReturn_t status = functions_.init();
  if (status != NVML_SUCCESS) {
    throw LibraryError("E_NVML",
                       fmt::format("NVML can't start: {} ({}); check that the driver is loaded and "
                                   "of the library's version (`nvidia-smi` says the same)",
                                   functions_.error_string(status), static_cast<int>(status)));
  }
  version_ = text_of(functions_.nvml_version);
  driver_version_ = text_of(functions_.driver_version);
}

NvmlApi::~NvmlApi() { static_cast<void>(functions_.shutdown()); }

bool NvmlApi::same_device(nvmlDevice_t handle, const DeviceInfo& device) const {
  nvmlPciInfo_t pci{};
  if (functions_.pci_info(handle, &pci) != NVML_SUCCESS) return false;
  // NVML's text has a domain of eight digits, CUDA's of four; CUDA functions are always 0.
  const std::string id = fmt::format("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device);
  if (id != device.pci_id) return false;
  if (device.uuid.rfind("GPU-", 0) != 0) return true;  // an instance's UUID is not the board's
  const std::string uuid = text_of(
      [&](char* text, unsigned int length) { return functions_.uuid(handle, text, length); });
  return uuid.empty() || uuid == device.uuid;
}

std::optional<nvmlDevice_t> NvmlApi::find(const DeviceInfo& device) const {
  nvmlDevice_t handle = nullptr;
  const bool board = device.uuid.rfind("GPU-", 0) == 0;
  if (board && functions_.handle_by_uuid(device.uuid.c_str(), &handle) == NVML_SUCCESS) {
    if (same_device(handle, device)) return handle;
    return std::nullopt;
  }
  if (!device.pci_id.empty() &&
      functions_.handle_by_pci(device.pci_id.c_str(), &handle) == NVML_SUCCESS &&
      same_device(handle, device)) {
    return handle;
  }
  return std::nullopt;
}

}  // namespace gpubench
