// SPDX-License-Identifier: Apache-2.0
// Readings of a device's clocks, power and temperature, joined to measurements by time stamp.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gpubench {

/// Seconds of std::chrono::steady_clock: the one time base of a run.
double steady_seconds();

struct TelemetryReading {
  double t_s = 0;  ///< steady_seconds() when read
  std::optional<double> sm_clock_mhz;
  std::optional<double> memory_clock_mhz;
  std::optional<double> power_w;
  std::optional<double> temperature_c;
  std::optional<std::uint64_t> event_reasons;  ///< NVML clocks event reasons bit mask
};

/// Where readings come from; NVML for a GPU. Not supported is nullopt.
class TelemetrySource {
 public:
  virtual ~TelemetrySource() = default;
  virtual TelemetryReading read() = 0;
};

/// What a window of readings says. Empty or unsupported is nullopt.
struct Telemetry {
  std::optional<double> sm_clock_median_mhz, sm_clock_min_mhz;
  std::optional<double> power_median_w;
  std::optional<double> energy_j_per_iteration;  ///< not measured yet: null
  std::optional<double> temperature_max_c;
  /// Share of readings (0..1) in which each clocks event reason was set: "sw_power_cap",
  /// "hw_slowdown", "sw_thermal", "hw_thermal", "hw_power_brake", "gpu_idle", "sync_boost",
  /// "app_clocks". Reasons never seen are left out; nullopt where not readable.
  std::optional<std::map<std::string, double>> throttle;
  std::vector<TelemetryReading> series;  ///< thinned to at most 200 readings
};

/// Pure: what the readings with begin <= t_s <= end say (src/core/telemetry.cpp).
Telemetry summarize(const std::vector<TelemetryReading>& readings, double begin_s, double end_s);

}  // namespace gpubench
