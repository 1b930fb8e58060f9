// SPDX-License-Identifier: Apache-2.0
#include "analysis/roof.h"

namespace gpubench {
namespace {

/// A positive figure from a table of the spec.
std::optional<double> figure(const std::map<std::string, double>& table, const std::string& key) {
  const auto found = table.find(key);
  if (found == table.end() || !(found->second > 0)) return std::nullopt;
  return found->second;
}

}  // namespace

std::optional<double> datasheet_tflops(const ReportDevice& device, const std::string& dtype) {
  if (!device.match.spec) return std::nullopt;
  return figure(device.match.spec->dense_tflops, dtype);
}

std::optional<double> tflops_at_clock(const ReportDevice& device, const std::string& dtype,
                                      const std::optional<double>& sm_clock_mhz) {
  if (!device.match.spec || !sm_clock_mhz || !(*sm_clock_mhz > 0)) return std::nullopt;
  if (device.info.sm_count <= 0) return std::nullopt;
  const auto flops = figure(device.match.spec->flops_per_clk_per_sm, dtype);
  if (!flops) return std::nullopt;
  return device.info.sm_count * *flops * *sm_clock_mhz * 1e6 / 1e12;
}

std::optional<double> datasheet_clock_mhz(const ReportDevice& device, const std::string& dtype) {
  const auto peak = datasheet_tflops(device, dtype);
  if (!peak || !device.match.spec->sm_count || *device.match.spec->sm_count <= 0) {
    return std::nullopt;
  }
  const auto flops = figure(device.match.spec->flops_per_clk_per_sm, dtype);
  if (!flops) return std::nullopt;
  return *peak * 1e12 / (*device.match.spec->sm_count * *flops) / 1e6;
}

std::optional<double> memory_gb_per_s(const ReportDevice& device, const Work& work) {
  if (work.bytes_over != "memory") return std::nullopt;
  if (!device.match.spec || !device.match.spec->memory_gb_per_s) return std::nullopt;
  const double bandwidth = *device.match.spec->memory_gb_per_s;
  return bandwidth > 0 ? std::optional(bandwidth) : std::nullopt;
}

std::optional<double> link_gb_per_s(const ReportDevice& device, const Work& work) {
  const bool duplex = work.bytes_over == "pcie_duplex";
  if (!duplex && work.bytes_over != "pcie") return std::nullopt;
  if (!device.match.spec || !device.match.spec->pcie_gb_per_s) return std::nullopt;
  const double each_way = *device.match.spec->pcie_gb_per_s;
  if (!(each_way > 0)) return std::nullopt;
  return duplex ? 2 * each_way : each_way;
}

}  // namespace gpubench
