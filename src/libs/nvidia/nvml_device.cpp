// SPDX-License-Identifier: Apache-2.0
// What NVML says of one device: its description and its readings. Not supported is nullopt.
#include <type_traits>

#include "libs/nvidia/nvml.h"
#include "libs/nvidia/nvml_counters.h"

namespace gpubench {
namespace {

constexpr double kWattsPerMilliwatt = 1e-3;
constexpr unsigned int kPowerInstantField = 186;  // NVML_FI_DEV_POWER_INSTANT; not in old headers

/// The value that `function(arguments..., &value)` gives, or nullopt.
template <class Value, class Function, class... Arguments>
std::optional<Value> ask(Function function, Arguments... arguments) {
  Value value{};
  if (function == nullptr || function(arguments..., &value) != NVML_SUCCESS) return std::nullopt;
  return value;
}

template <class To, class From>
void set(std::optional<To>& target, const std::optional<From>& value) {
  if (value) target = static_cast<To>(*value);
}

void set_watts(std::optional<double>& target, const std::optional<unsigned int>& milliwatts) {
  if (milliwatts) target = *milliwatts * kWattsPerMilliwatt;
}

std::optional<double> number(const nvmlFieldValue_t& field) {
  if (field.nvmlReturn != NVML_SUCCESS) return std::nullopt;
  switch (field.valueType) {
    case NVML_VALUE_TYPE_UNSIGNED_INT:
      return field.value.uiVal;
    case NVML_VALUE_TYPE_UNSIGNED_LONG:
      return static_cast<double>(field.value.ulVal);
    case NVML_VALUE_TYPE_UNSIGNED_LONG_LONG:
      return static_cast<double>(field.value.ullVal);
    case NVML_VALUE_TYPE_DOUBLE:
      return field.value.dVal;
    default:
      return std::nullopt;
  }
}

/// nvmlDeviceGetPowerUsage is an average over a second on recent GPUs; the field is the present.
std::optional<double> instant_power_w(const NvmlFunctions& nvml, nvmlDevice_t device) {
  if (nvml.field_values == nullptr) return std::nullopt;
  nvmlFieldValue_t field{};
  field.fieldId = kPowerInstantField;
  if (nvml.field_values(device, 1, &field) != NVML_SUCCESS) return std::nullopt;
  const std::optional<double> milliwatts = number(field);
  if (!milliwatts || *milliwatts <= 0) return std::nullopt;
  return *milliwatts * kWattsPerMilliwatt;
}

class NvmlTelemetry : public TelemetrySource {
 public:
  NvmlTelemetry(const NvmlApi& api, nvmlDevice_t device, bool instance)
      : nvml_(api.functions()),
        device_(device),
        instance_(instance),
        instant_power_(instant_power_w(nvml_, device).has_value()),
        gpm_(instance ? nullptr : GpmWindow::make(nvml_, device)) {}

  TelemetryReading read() override {
    TelemetryReading reading;
    reading.t_s = steady_seconds();
    set(reading.sm_clock_mhz, ask<unsigned int>(nvml_.clock, device_, NVML_CLOCK_SM));
    set(reading.memory_clock_mhz, ask<unsigned int>(nvml_.clock, device_, NVML_CLOCK_MEM));
    reading.power_w = power_w();
    reading.energy_j = energy_j();
    set(reading.temperature_c, ask<unsigned int>(nvml_.temperature, device_, NVML_TEMPERATURE_GPU));
    set(reading.event_reasons, ask<unsigned long long>(nvml_.event_reasons, device_));
    return reading;
  }

  TelemetryCounters counters() override { return read_counters(nvml_, device_); }
  void begin_utilisation() override {
    if (gpm_) gpm_->begin();
  }
  std::optional<Readings> end_utilisation() override { return gpm_ ? gpm_->end() : std::nullopt; }

 private:
  std::optional<double> energy_j() const {
    if (instance_) return std::nullopt;  // the board's, as its power
    const auto millijoules = ask<unsigned long long>(nvml_.total_energy, device_);
    if (!millijoules) return std::nullopt;
    return static_cast<double>(*millijoules) * 1e-3;
  }

  std::optional<double> power_w() const {
    // The whole board's power says nothing of one instance of it.
    if (instance_) return std::nullopt;
    if (instant_power_) return instant_power_w(nvml_, device_);
    std::optional<double> watts;
    set_watts(watts, ask<unsigned int>(nvml_.power_usage, device_));
    return watts;
  }

  const NvmlFunctions& nvml_;
  nvmlDevice_t device_;
  bool instance_;
  bool instant_power_;  // one meaning for all readings of a run
  std::unique_ptr<GpmWindow> gpm_;
};

bool is_instance(const DeviceInfo& device) { return device.uuid.rfind("MIG-", 0) == 0; }

std::string compute_mode_text(nvmlComputeMode_t mode) {
  switch (mode) {
    case NVML_COMPUTEMODE_DEFAULT:
      return "default";
    case NVML_COMPUTEMODE_EXCLUSIVE_PROCESS:
      return "exclusive_process";
    case NVML_COMPUTEMODE_PROHIBITED:
      return "prohibited";
    default:
      return {};
  }
}

void enrich_link(DeviceInfo& device, const NvmlFunctions& nvml, nvmlDevice_t handle) {
  set(device.pcie_gen, ask<unsigned int>(nvml.pcie_gen, handle));
  set(device.pcie_width, ask<unsigned int>(nvml.pcie_width, handle));
  set(device.pcie_max_gen, ask<unsigned int>(nvml.pcie_max_gen, handle));
  set(device.pcie_max_width, ask<unsigned int>(nvml.pcie_max_width, handle));
}

void enrich_modes(DeviceInfo& device, const NvmlFunctions& nvml, nvmlDevice_t handle) {
  nvmlEnableState_t ecc{};
  nvmlEnableState_t ecc_pending{};
  if (nvml.ecc_mode != nullptr && nvml.ecc_mode(handle, &ecc, &ecc_pending) == NVML_SUCCESS) {
    device.ecc_enabled = ecc == NVML_FEATURE_ENABLED;
  }
  unsigned int mig = 0;
  unsigned int mig_pending = 0;
  if (nvml.mig_mode != nullptr && nvml.mig_mode(handle, &mig, &mig_pending) == NVML_SUCCESS) {
    device.mig = mig == NVML_DEVICE_MIG_ENABLE;
  }
  if (const auto mode = ask<nvmlComputeMode_t>(nvml.compute_mode, handle)) {
    device.compute_mode = compute_mode_text(*mode);
  }
}

std::string virtualization_text(nvmlGpuVirtualizationMode_t mode) {
  switch (mode) {
    case NVML_GPU_VIRTUALIZATION_MODE_NONE:
      return "none";
    case NVML_GPU_VIRTUALIZATION_MODE_PASSTHROUGH:
      return "passthrough";
    case NVML_GPU_VIRTUALIZATION_MODE_VGPU:
      return "vgpu";
    case NVML_GPU_VIRTUALIZATION_MODE_HOST_VGPU:
      return "host_vgpu";
    case NVML_GPU_VIRTUALIZATION_MODE_HOST_VSGA:
      return "host_vsga";
    default:
      return {};
  }
}

/// Links that are up; nullopt where not even one can be asked.
std::optional<int> active_nvlinks(const NvmlFunctions& nvml, nvmlDevice_t handle) {
  std::optional<int> active;
  for (unsigned int link = 0; link < NVML_NVLINK_MAX_LINKS; ++link) {
    const auto state = ask<nvmlEnableState_t>(nvml.nvlink_state, handle, link);
    if (!state) continue;
    active = active.value_or(0) + (*state == NVML_FEATURE_ENABLED ? 1 : 0);
  }
  return active;
}

/// Before this process has a context on the device: in a container its own entry has a process id
/// that it does not know.
std::optional<int> running_processes(const NvmlFunctions& nvml, nvmlDevice_t handle) {
  if (nvml.processes == nullptr) return std::nullopt;
  unsigned int count = 0;  // asks for the number alone
  const nvmlReturn_t status = nvml.processes(handle, &count, nullptr);
  if (status != NVML_SUCCESS && status != NVML_ERROR_INSUFFICIENT_SIZE) return std::nullopt;
  return static_cast<int>(count);
}

}  // namespace

std::unique_ptr<TelemetrySource> make_nvml_telemetry(const NvmlApi& nvml,
                                                     const DeviceInfo& device) {
  const auto handle = nvml.find(device);
  if (!handle) return nullptr;
  return std::make_unique<NvmlTelemetry>(nvml, *handle, is_instance(device));
}

void enrich(DeviceInfo& device, const NvmlApi& api) {
  const auto handle = api.find(device);
  if (!handle) return;
  const NvmlFunctions& nvml = api.functions();
  nvmlPciInfo_t pci{};
  if (nvml.pci_info(*handle, &pci) == NVML_SUCCESS) {
    device.pci_device = pci.pciDeviceId >> 16;  // the low half is the vendor, 0x10de
    device.pci_subsystem = pci.pciSubSystemId;
  }
  enrich_link(device, nvml, *handle);
  enrich_modes(device, nvml, *handle);
  set(device.max_sm_clock_mhz, ask<unsigned int>(nvml.max_clock, *handle, NVML_CLOCK_SM));
  set(device.memory_clock_mhz, ask<unsigned int>(nvml.max_clock, *handle, NVML_CLOCK_MEM));
  if (const auto mode = ask<nvmlGpuVirtualizationMode_t>(nvml.virtualization_mode, *handle)) {
    device.virtualization = virtualization_text(*mode);
  }
  device.other_processes = running_processes(nvml, *handle);
  if (is_instance(device)) return;  // bus and power of the board are shared with other instances
  set(device.bus_bits, ask<unsigned int>(nvml.memory_bus_width, *handle));
  device.nvlinks = active_nvlinks(nvml, *handle);
  set_watts(device.power_limit_w, ask<unsigned int>(nvml.power_limit, *handle));
  set_watts(device.default_power_limit_w, ask<unsigned int>(nvml.default_power_limit, *handle));
}

}  // namespace gpubench
