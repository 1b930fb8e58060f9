// SPDX-License-Identifier: Apache-2.0
// NVML behind function pointers, by versioned names (a name without version changes meaning between
// headers). Made by loading; initialised until destroyed.
#pragma once

#include <nvml.h>

#include <memory>
#include <optional>
#include <string>

#include "gpubench/device_info.h"
#include "gpubench/telemetry.h"
#include "util/shared_library.h"

namespace gpubench {

/// Deprecated functions are spelt out: naming them would warn.
struct NvmlFunctions {
  decltype(&nvmlInit_v2) init;
  decltype(&nvmlShutdown) shutdown;
  decltype(&nvmlErrorString) error_string;
  decltype(&nvmlSystemGetDriverVersion) driver_version;
  decltype(&nvmlSystemGetNVMLVersion) nvml_version;
  decltype(&nvmlDeviceGetHandleByUUID) handle_by_uuid;
  decltype(&nvmlDeviceGetHandleByPciBusId_v2) handle_by_pci;
  decltype(&nvmlDeviceGetUUID) uuid;
  decltype(&nvmlDeviceGetPciInfo_v3) pci_info;
  decltype(&nvmlDeviceGetClockInfo) clock;
  decltype(&nvmlDeviceGetPowerUsage) power_usage;
  nvmlReturn_t (*temperature)(nvmlDevice_t, nvmlTemperatureSensors_t, unsigned int*);

  // Null where the driver is older (or the function newer) than this one.
  nvmlReturn_t (*event_reasons)(nvmlDevice_t, unsigned long long*);
  decltype(&nvmlDeviceGetFieldValues) field_values;
  decltype(&nvmlDeviceGetMaxClockInfo) max_clock;
  decltype(&nvmlDeviceGetMemoryBusWidth) memory_bus_width;
  decltype(&nvmlDeviceGetPowerManagementLimit) power_limit;
  decltype(&nvmlDeviceGetPowerManagementDefaultLimit) default_power_limit;
  decltype(&nvmlDeviceGetCurrPcieLinkGeneration) pcie_gen;
  decltype(&nvmlDeviceGetCurrPcieLinkWidth) pcie_width;
  decltype(&nvmlDeviceGetMaxPcieLinkGeneration) pcie_max_gen;
  decltype(&nvmlDeviceGetMaxPcieLinkWidth) pcie_max_width;
  decltype(&nvmlDeviceGetEccMode) ecc_mode;
  decltype(&nvmlDeviceGetMigMode) mig_mode;
  decltype(&nvmlDeviceGetComputeMode) compute_mode;
  decltype(&nvmlDeviceGetTotalEnergyConsumption) total_energy;
  nvmlReturn_t (*violation)(nvmlDevice_t, nvmlPerfPolicyType_t, nvmlViolationTime_t*);
  decltype(&nvmlDeviceGetTotalEccErrors) ecc_errors;
  decltype(&nvmlDeviceGetRemappedRows) remapped_rows;
  decltype(&nvmlDeviceGetPcieReplayCounter) pcie_replays;
  decltype(&nvmlDeviceGetNvLinkState) nvlink_state;
  decltype(&nvmlDeviceGetComputeRunningProcesses_v3) processes;
  decltype(&nvmlDeviceGetVirtualizationMode) virtualization_mode;
  decltype(&nvmlGpmQueryDeviceSupport) gpm_support;
  decltype(&nvmlGpmSampleAlloc) gpm_alloc;
  decltype(&nvmlGpmSampleFree) gpm_free;
  decltype(&nvmlGpmSampleGet) gpm_sample;
  decltype(&nvmlGpmMetricsGet) gpm_metrics;
};

class NvmlApi {
 public:
  /// Throws LibraryError: E_SYMBOL, or E_NVML where it can't be initialised (the driver is not
  /// loaded, or of another version than the library).
  explicit NvmlApi(SharedLibrary library);
  ~NvmlApi();
  NvmlApi(const NvmlApi&) = delete;
  NvmlApi& operator=(const NvmlApi&) = delete;

  const NvmlFunctions& functions() const { return functions_; }
  const std::string& version() const { return version_; }  ///< of NVML, "13.580.65.06"
  const std::string& path() const { return library_.path(); }
  const std::string& driver_version() const { return driver_version_; }  ///< "580.65.06"

  /// The very GPU: by UUID first, by PCI id second, and nothing where the two disagree.
  std::optional<nvmlDevice_t> find(const DeviceInfo& device) const;

 private:
  bool same_device(nvmlDevice_t handle, const DeviceInfo& device) const;

  SharedLibrary library_;
  NvmlFunctions functions_;
  std::string version_, driver_version_;
};

/// nullptr where the device is not found for sure. `nvml` outlives the source.
std::unique_ptr<TelemetrySource> make_nvml_telemetry(const NvmlApi& nvml, const DeviceInfo& device);

/// See enrich_from_nvml in libs/telemetry.h.
void enrich(DeviceInfo& device, const NvmlApi& nvml);

}  // namespace gpubench
