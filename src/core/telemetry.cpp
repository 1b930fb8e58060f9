// SPDX-License-Identifier: Apache-2.0
#include "gpubench/telemetry.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>

#include "core/statistics.h"

namespace gpubench {
namespace {

constexpr std::size_t kSeriesReadings = 200;

/// nvml.h, nvmlClocksEventReason*.
struct EventReason {
  std::uint64_t bit;
  const char* name;
};
constexpr std::array<EventReason, 8> kEventReasons{{{0x01, "gpu_idle"},
                                                    {0x02, "app_clocks"},
                                                    {0x04, "sw_power_cap"},
                                                    {0x08, "hw_slowdown"},
                                                    {0x10, "sync_boost"},
                                                    {0x20, "sw_thermal"},
                                                    {0x40, "hw_thermal"},
                                                    {0x80, "hw_power_brake"}}};

using Field = std::optional<double> TelemetryReading::*;

std::vector<double> values(const std::vector<TelemetryReading>& readings, Field field) {
  std::vector<double> found;
  for (const TelemetryReading& reading : readings) {
    const std::optional<double>& value = reading.*field;
    if (value && std::isfinite(*value)) found.push_back(*value);
  }
  return found;
}

std::optional<double> median_of(const std::vector<double>& found) {
  if (found.empty()) return std::nullopt;
  return median(found);
}

std::optional<std::map<std::string, double>> throttle_shares(
    const std::vector<TelemetryReading>& readings) {
  std::map<std::string, double> counts;
  double readable = 0;
  for (const TelemetryReading& reading : readings) {
    if (!reading.event_reasons) continue;
    ++readable;
    for (const EventReason& reason : kEventReasons) {
      if (*reading.event_reasons & reason.bit) ++counts[reason.name];
    }
  }
  if (readable == 0) return std::nullopt;
  for (auto& [name, count] : counts) count /= readable;
  return counts;
}

/// Evenly spaced readings, first and last included.
std::vector<TelemetryReading> thinned(std::vector<TelemetryReading> readings) {
  if (readings.size() <= kSeriesReadings) return readings;
  std::vector<TelemetryReading> kept;
  kept.reserve(kSeriesReadings);
  for (std::size_t i = 0; i < kSeriesReadings; ++i) {
    kept.push_back(readings[i * (readings.size() - 1) / (kSeriesReadings - 1)]);
  }
  return kept;
}

/// The counter moves in steps of some ten milliseconds: from the first step seen to the last.
std::optional<double> power_by_energy(const std::vector<TelemetryReading>& readings) {
  constexpr double kLeastSeconds = 0.3;
  const TelemetryReading* first = nullptr;
  const TelemetryReading* last = nullptr;
  const TelemetryReading* before = nullptr;
  for (const TelemetryReading& reading : readings) {
    if (!reading.energy_j) continue;
    if (before != nullptr && *reading.energy_j > *before->energy_j) {
      if (first == nullptr) first = &reading;
      last = &reading;
    }
    before = &reading;
  }
  if (first == nullptr || last->t_s - first->t_s < kLeastSeconds) return std::nullopt;
  return (*last->energy_j - *first->energy_j) / (last->t_s - first->t_s);
}

/// Set by the hardware itself, not by the driver's power management.
constexpr std::uint64_t kHardwareReasons = 0x08 | 0x40 | 0x80;

std::vector<TimeSpan> slowdowns_of(const std::vector<TelemetryReading>& readings) {
  std::vector<TimeSpan> spans;
  for (std::size_t i = 0; i < readings.size(); ++i) {
    if (!(readings[i].event_reasons.value_or(0) & kHardwareReasons)) continue;
    const double from = readings[i == 0 ? 0 : i - 1].t_s;
    const double to = readings[std::min(i + 1, readings.size() - 1)].t_s;
    if (!spans.empty() && from <= spans.back().second) {
      spans.back().second = to;
    } else {
      spans.emplace_back(from, to);
    }
  }
  return spans;
}

/// nullopt where no counter is readable; a counter that was reset meanwhile is left out.
std::optional<Readings> growth(const Readings& before, const Readings& after) {
  Readings grown;
  for (const auto& [name, value] : after) {
    const auto found = before.find(name);
    if (found != before.end() && value >= found->second) grown[name] = value - found->second;
  }
  return grown.empty() ? std::nullopt : std::optional(grown);
}

Telemetry summary_of(std::vector<TelemetryReading> window) {
  Telemetry telemetry;
  const std::vector<double> clocks = values(window, &TelemetryReading::sm_clock_mhz);
  telemetry.sm_clock_median_mhz = median_of(clocks);
  if (!clocks.empty()) {
    telemetry.sm_clock_min_mhz = *std::min_element(clocks.begin(), clocks.end());
  }
  telemetry.power_median_w = median_of(values(window, &TelemetryReading::power_w));
  const std::vector<double> temperatures = values(window, &TelemetryReading::temperature_c);
  if (!temperatures.empty()) {
    telemetry.temperature_max_c = *std::max_element(temperatures.begin(), temperatures.end());
  }
  telemetry.throttle = throttle_shares(window);
  telemetry.power_by_energy_w = power_by_energy(window);
  telemetry.slowdowns = slowdowns_of(window);
  telemetry.series = thinned(std::move(window));
  return telemetry;
}

}  // namespace

void add_counters(Telemetry& telemetry, const TelemetryCounters& before,
                  const TelemetryCounters& after) {
  telemetry.throttled_s = growth(before.throttled_s, after.throttled_s);
  telemetry.errors = growth(before.errors, after.errors);
  telemetry.pcie_gen = after.pcie_gen;
}

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Telemetry summarize(const std::vector<TelemetryReading>& readings,
                    std::span<const TimeSpan> spans) {
  constexpr double kLeastForPower_s = 0.5;
  std::vector<TelemetryReading> window;
  for (const TelemetryReading& reading : readings) {
    for (const auto& [from, to] : spans) {
      if (reading.t_s < from || reading.t_s > to) continue;
      window.push_back(reading);
      window.back().energy_j.reset();
      if (to - from < kLeastForPower_s) window.back().power_w.reset();
    }
  }
  return summary_of(std::move(window));
}

Telemetry summarize(const std::vector<TelemetryReading>& readings, double begin_s, double end_s) {
  std::vector<TelemetryReading> window;
  for (const TelemetryReading& reading : readings) {
    if (reading.t_s >= begin_s && reading.t_s <= end_s) window.push_back(reading);
  }
  return summary_of(std::move(window));
}

}  // namespace gpubench
