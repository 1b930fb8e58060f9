// SPDX-License-Identifier: Apache-2.0
// Readings of a device's clocks, power and temperature, joined to measurements by time stamp.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gpubench {

/// Seconds of std::chrono::steady_clock: the one time base of a run.
double steady_seconds();

/// From and to, in steady_seconds().
using TimeSpan = std::pair<double, double>;

struct TelemetryReading {
  double t_s = 0;  ///< steady_seconds() when read
  std::optional<double> sm_clock_mhz;
  std::optional<double> memory_clock_mhz;
  std::optional<double> power_w;
  std::optional<double> temperature_c;
  std::optional<std::uint64_t> event_reasons;  ///< NVML clocks event reasons bit mask
  std::optional<double> energy_j = {};         ///< a counter; its zero is of no meaning
};

using Readings = std::map<std::string, double>;

/// Totals since some time before the run. What is not supported is left out.
struct TelemetryCounters {
  Readings throttled_s;  ///< held below its clocks: "power", "thermal", "sync_boost",
                         ///< "board_limit", "low_utilization", "reliability"
  Readings errors;       ///< "ecc_corrected", "ecc_uncorrected", "remapped_rows", "pcie_replays"
  std::optional<int> pcie_gen = {};  ///< of the link now: it falls on an idle card
};

/// Where readings come from; NVML for a GPU. Not supported is nullopt. `read` is called in a thread
/// of its own, beside the others.
class TelemetrySource {
 public:
  virtual ~TelemetrySource() = default;
  virtual TelemetryReading read() = 0;
  virtual TelemetryCounters counters() { return {}; }
  /// Utilisation from here ...
  virtual void begin_utilisation() {}
  /// ... to here: "sm_util_pct", "tensor_util_pct", "dram_util_pct", "pcie_tx_gb_per_s", ...
  virtual std::optional<Readings> end_utilisation() { return std::nullopt; }
};

/// What a window of readings says. Empty or unsupported is nullopt.
struct Telemetry {
  std::optional<double> sm_clock_median_mhz, sm_clock_min_mhz;
  std::optional<double> sm_clock_counted_mhz;  ///< mean, by the device's own counters
  std::optional<double> power_median_w;
  std::optional<double> power_by_energy_w;  ///< mean, from the energy counter
  std::optional<double> energy_j_per_iteration;
  std::optional<double> temperature_max_c;
  /// Share of readings (0..1) in which each clocks event reason was set: "sw_power_cap",
  /// "hw_slowdown", "sw_thermal", "hw_thermal", "hw_power_brake", "gpu_idle", "sync_boost",
  /// "app_clocks". Reasons never seen are left out; nullopt where not readable.
  std::optional<Readings> throttle;
  /// Seconds that the device was held back while measuring, by the driver's own count.
  std::optional<Readings> throttled_s;
  /// Errors that were counted while measuring.
  std::optional<Readings> errors;
  std::optional<Readings> gpm;
  std::optional<int> pcie_gen;           ///< of the link when the load had just ended
  std::vector<TelemetryReading> series;  ///< thinned to at most 200 readings
  /// When a reading said that the hardware slowed the device down (heat, power supply): from the
  /// reading before to the one after. Nothing of it is in a report but what it did to samples.
  std::vector<TimeSpan> slowdowns;
};

/// Pure: the growth of each counter that both have, into `throttled_s` and `errors`; the link as it
/// was after.
void add_counters(Telemetry& telemetry, const TelemetryCounters& before,
                  const TelemetryCounters& after);

/// Pure: the same of several spans. A power reading is a mean of up to a second, and the energy
/// counter knows no pauses: neither is told of spans below half a second, the latter of none.
Telemetry summarize(const std::vector<TelemetryReading>& readings, std::span<const TimeSpan> spans);

/// Pure: what the readings with begin <= t_s <= end say (src/core/telemetry.cpp).
Telemetry summarize(const std::vector<TelemetryReading>& readings, double begin_s, double end_s);

}  // namespace gpubench
