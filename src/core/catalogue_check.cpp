// SPDX-License-Identifier: Apache-2.0
// Do the published figures of an entry agree with one another?
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/catalogue.h"

namespace gpubench {
namespace {

/// Datasheets round, and some quote a memory clock below the one that is read: the shipped entries
/// stay within this.
constexpr double kTolerance = 0.03;
constexpr double kRounding = 0.05;  // figures with one decimal

bool near(double value, double expected) {
  return std::abs(value - expected) <= std::max(kTolerance * expected, kRounding);
}

/// A peak is explained by the clock of the tensor peaks or by the card's highest.
void check_peaks(const DeviceSpec& spec, std::vector<std::string>& found) {
  if (!spec.sm_count) return;
  for (const auto& [dtype, tflops] : spec.dense_tflops) {
    const auto rate = spec.flops_per_clk_per_sm.find(dtype);
    if (rate == spec.flops_per_clk_per_sm.end()) continue;
    bool known = false, explained = false;
    std::string tried;
    for (const auto& clock : {spec.reference_clock_mhz, spec.max_sm_clock_mhz}) {
      if (!clock) continue;
      const double expected = *spec.sm_count * rate->second * *clock / 1e6;
      known = true;
      explained = explained || near(tflops, expected);
      tried += fmt::format("{}{:.4g} at {:g} MHz", tried.empty() ? "" : ", ", expected, *clock);
    }
    if (known && !explained) {
      found.push_back(
          fmt::format("{}: {} is {:g} TFLOP/s, but {} SMs at {:g} FLOP per clock give {}", spec.id,
                      dtype, tflops, *spec.sm_count, rate->second, tried));
    }
  }
}

void check_bandwidth(const DeviceSpec& spec, std::vector<std::string>& found) {
  if (!spec.memory_gb_per_s || !spec.memory_bus_bits || !spec.memory_clock_mhz) return;
  const double expected = *spec.memory_bus_bits / 8.0 * *spec.memory_clock_mhz * 2 / 1000;
  if (near(*spec.memory_gb_per_s, expected)) return;
  found.push_back(fmt::format("{}: {:g} GB/s, but {} bits at {:g} MHz, two per clock, give {:.5g}",
                              spec.id, *spec.memory_gb_per_s, *spec.memory_bus_bits,
                              *spec.memory_clock_mhz, expected));
}

/// 25 GB/s per link and direction up to NVLink 4, 50 with NVLink 5.
void check_nvlink(const DeviceSpec& spec, std::vector<std::string>& found) {
  if (!spec.nvlink_links || !spec.nvlink_gb_per_s) return;
  const double per_link = *spec.nvlink_gb_per_s / *spec.nvlink_links;
  if (near(per_link, 25) || near(per_link, 50)) return;
  found.push_back(fmt::format("{}: {} links of {:g} GB/s per direction: no NVLink has that rate",
                              spec.id, *spec.nvlink_links, per_link));
}

}  // namespace

std::vector<std::string> Catalogue::contradictions() const {
  std::vector<std::string> found;
  for (const DeviceSpec& spec : specs_) {
    check_peaks(spec, found);
    check_bandwidth(spec, found);
    check_nvlink(spec, found);
  }
  return found;
}

}  // namespace gpubench
