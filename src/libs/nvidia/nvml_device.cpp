// SPDX-License-Identifier: Apache-2.0
// What NVML says of one device: its description and its readings. Not supported is nullopt.
#include <type_traits>

#include "libs/nvidia/nvml.h"

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
        instant_power_(instant_power_w(nvml_, device).has_value()) {}

  TelemetryReading read() override {
    TelemetryReading reading;
    reading.t_s = steady_seconds();
    set(reading.sm_clock_mhz, ask<unsigned int>(nvml_.clock, device_, NVML_CLOCK_SM));
    set(reading.memory_clock_mhz, ask<unsigned int>(nvml_.clock, device_, NVML_CLOCK_MEM));
    reading.power_w = power_w();
    set(reading.temperature_c, ask<unsigned int>(nvml_.temperature, device_, NVML_TEMPERATURE_GPU));
    set(reading.event_reasons, ask<unsigned long long>(nvml_.event_reasons, device_));
    return reading;
  }

 private:
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
  if (is_instance(device)) return;  // bus and power of the board are shared with other instances
  set(device.bus_bits, ask<unsigned int>(nvml.memory_bus_width, *handle));
  set_watts(device.power_limit_w, ask<unsigned int>(nvml.power_limit, *handle));
  set_watts(device.default_power_limit_w, ask<unsigned int>(nvml.default_power_limit, *handle));
}

}  // namespace gpubench
