// SPDX-License-Identifier: Apache-2.0
// The parts of a report that describe a device and its readings.
#include "report/json_values.h"

namespace gpubench {
namespace {

Json series_value(const std::vector<TelemetryReading>& readings, double origin_s) {
  Json object;
  for (const char* key :
       {"t_s", "sm_clock_mhz", "memory_clock_mhz", "power_w", "temperature_c", "event_reasons"}) {
    object[key] = Json::array();
  }
  for (const TelemetryReading& reading : readings) {
    // Microseconds are far below the reading period; more digits would be noise in the file.
    object["t_s"].push_back(number(std::round((reading.t_s - origin_s) * 1e6) / 1e6));
    object["sm_clock_mhz"].push_back(number(reading.sm_clock_mhz));
    object["memory_clock_mhz"].push_back(number(reading.memory_clock_mhz));
    object["power_w"].push_back(number(reading.power_w));
    object["temperature_c"].push_back(number(reading.temperature_c));
    object["event_reasons"].push_back(optional(reading.event_reasons));
  }
  return object;
}

}  // namespace

Json to_value(const DeviceSpec& spec) {
  Json object;
  object["name"] = text(spec.marketing_name);
  object["dense_tflops"] = peak_table(spec.dense_tflops);
  object["flops_per_clk_per_sm"] = peak_table(spec.flops_per_clk_per_sm);
  object["memory_gb_per_s"] = number(spec.memory_gb_per_s);
  object["nvlink_gb_per_s"] = number(spec.nvlink_gb_per_s);
  object["pcie_gb_per_s"] = number(spec.pcie_gb_per_s);
  object["tdp_w"] = number(spec.tdp_w);
  object["sm_count"] = optional(spec.sm_count);
  object["sources"] = spec.sources;
  return object;
}

Json to_value(const ReportDevice& device) {
  const DeviceInfo& info = device.info;
  const auto& spec = device.match.spec;
  Json object;
  object["index"] = info.index;
  object["name"] = text(info.name);
  object["uuid"] = text(info.uuid);
  object["pci_id"] = text(info.pci_id);
  object["pci_device"] = hex(info.pci_device);
  object["pci_subsystem"] = hex(info.pci_subsystem);
  object["arch"] = info.arch();
  object["sku"] = spec ? text(spec->id) : Json();
  object["match_rule"] = text(device.match.rule);
  object["sm_count"] = positive(info.sm_count);
  object["memory_bytes"] = positive(info.memory_bytes);
  object["l2_bytes"] = positive(info.l2_bytes);
  object["max_sm_clock_mhz"] = number(info.max_sm_clock_mhz);
  object["memory_clock_mhz"] = number(info.memory_clock_mhz);
  object["bus_bits"] = optional(info.bus_bits);
  object["power_limit_w"] = number(info.power_limit_w);
  object["default_power_limit_w"] = number(info.default_power_limit_w);
  object["pcie"] = {{"gen", optional(info.pcie_gen)},
                    {"width", optional(info.pcie_width)},
                    {"max_gen", optional(info.pcie_max_gen)},
                    {"max_width", optional(info.pcie_max_width)}};
  object["ecc"] = {{"enabled", optional(info.ecc_enabled)}};
  object["mig"] = optional(info.mig);
  object["nvlinks"] = optional(info.nvlinks);
  object["other_processes"] = optional(info.other_processes);
  object["virtualization"] = text(info.virtualization);
  object["compute_mode"] = text(info.compute_mode);
  object["spec"] = spec ? to_value(*spec) : Json();
  return object;
}

Json to_value(const Telemetry& telemetry, double origin_s) {
  Json object;
  object["sm_clock_mhz"] = {{"median", number(telemetry.sm_clock_median_mhz)},
                            {"min", number(telemetry.sm_clock_min_mhz)},
                            {"counted", number(telemetry.sm_clock_counted_mhz)}};
  object["power_w"] = number(telemetry.power_median_w);
  object["power_by_energy_w"] = number(telemetry.power_by_energy_w);
  object["energy_j_per_iteration"] = number(telemetry.energy_j_per_iteration);
  object["temperature_c"] = number(telemetry.temperature_max_c);
  const auto readings = [](const std::optional<Readings>& map) {
    return map ? numbers(*map) : Json();
  };
  object["throttle"] = readings(telemetry.throttle);
  object["throttled_s"] = readings(telemetry.throttled_s);
  object["errors"] = readings(telemetry.errors);
  object["gpm"] = readings(telemetry.gpm);
  object["pcie_gen"] = telemetry.pcie_gen ? Json(*telemetry.pcie_gen) : Json();
  object["series"] = series_value(telemetry.series, origin_s);
  return object;
}

}  // namespace gpubench
