// SPDX-License-Identifier: Apache-2.0
#include "analysis/standing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/derive.h"
#include "core/statistics.h"
#include "util/text.h"

namespace gpubench {
namespace {

/// Figures of the machine are whole MHz and watts; what is nearer than this is the same.
constexpr double kSameFigure = 0.01;

std::optional<double> usable_median(const Result& result) {
  if (result.status != Status::ok || !result.time_s || !(result.time_s->median > 0)) {
    return std::nullopt;
  }
  return result.time_s->median;
}

bool is_alike(const Report& report, int a, int b) {
  const auto& devices = report.devices;
  const auto known = [&](int index) {
    return index >= 0 && index < static_cast<int>(devices.size());
  };
  return known(a) && known(b) &&
         devices[static_cast<std::size_t>(a)].info.name ==
             devices[static_cast<std::size_t>(b)].info.name;
}

/// A result beside the same case on the other devices of its name.
struct Lag {
  std::size_t result;
  double lag;  ///< time / the others' median - 1
  std::vector<std::size_t> others;
};

std::vector<Lag> lags_of(const Report& report) {
  std::map<std::string, std::vector<std::size_t>> by_case;
  for (std::size_t i = 0; i < report.results.size(); ++i) {
    if (usable_median(report.results[i])) by_case[report.results[i].id].push_back(i);
  }
  std::vector<Lag> lags;
  for (const auto& [id, indices] : by_case) {
    for (const std::size_t mine : indices) {
      Lag lag{.result = mine, .lag = 0, .others = {}};
      std::vector<double> times;
      for (const std::size_t other : indices) {
        const Result& result = report.results[other];
        if (other == mine || result.device == report.results[mine].device) continue;
        if (!is_alike(report, result.device, report.results[mine].device)) continue;
        lag.others.push_back(other);
        times.push_back(*usable_median(result));
      }
      if (times.empty()) continue;
      lag.lag = *usable_median(report.results[mine]) / median(times) - 1;
      lags.push_back(std::move(lag));
    }
  }
  return lags;
}

std::optional<double> reading(const Result& result, std::optional<double> Telemetry::*field) {
  return result.telemetry ? (*result.telemetry).*field : std::nullopt;
}

/// ", SM clock 1410 against 1620 MHz" where the device has clearly less (or, of heat, more).
std::string differing(const Report& report, const Lag& lag, const char* what, const char* unit,
                      std::optional<double> Telemetry::*field) {
  const auto mine = reading(report.results[lag.result], field);
  std::vector<double> others;
  for (const std::size_t other : lag.others) {
    if (const auto value = reading(report.results[other], field)) others.push_back(*value);
  }
  if (!mine || others.empty()) return {};
  const double usual = median(others);
  if (std::abs(*mine - usual) < 0.03 * usual) return {};
  return fmt::format(", {} {:.0f} against {:.0f} {}", what, *mine, usual, unit);
}

void add_lower(const char* what, const std::optional<double>& is,
               const std::optional<double>& published, const char* unit,
               std::vector<std::string>& found) {
  if (!is || !published || *is >= (1 - kSameFigure) * *published) return;
  found.push_back(fmt::format("{} {:g} of {:g}{}", what, *is, *published, unit));
}

std::optional<double> as_real(const std::optional<int>& value) {
  return value ? std::optional<double>(*value) : std::nullopt;
}

}  // namespace

std::vector<Standing> standings(const Report& report) {
  std::map<int, std::vector<double>> lags;
  for (const Lag& lag : lags_of(report)) lags[report.results[lag.result].device].push_back(lag.lag);
  std::vector<Standing> standings;
  for (const auto& [device, of_device] : lags) {
    Standing standing{.device = device, .cases = static_cast<int>(of_device.size())};
    standing.slow_cases = static_cast<int>(std::count_if(
        of_device.begin(), of_device.end(), [](double lag) { return lag > kSlowDevice; }));
    standing.lag = median(of_device);
    standings.push_back(standing);
  }
  return standings;
}

void remark_slow_devices(Report& report) {
  for (const Lag& lag : lags_of(report)) {
    if (!(lag.lag > kSlowDevice) || has_warning(report.results[lag.result], "W_SLOW_DEVICE"))
      continue;
    std::string reasons =
        differing(report, lag, "SM clock", "MHz", &Telemetry::sm_clock_median_mhz) +
        differing(report, lag, "power", "W", &Telemetry::power_median_w) +
        differing(report, lag, "temperature", "C", &Telemetry::temperature_max_c);
    Result& result = report.results[lag.result];
    result.warnings.emplace_back("W_SLOW_DEVICE");
    result.remarks.push_back(fmt::format(
        "device {} takes {:.1f} % longer than the other {} of its kind{}",
        report.devices[static_cast<std::size_t>(result.device)].info.index, 100 * lag.lag,
        lag.others.size() == 1 ? "one" : fmt::format("{}", lag.others.size()), reasons));
  }
}

std::vector<std::string> below_catalogue(const ReportDevice& device) {
  std::vector<std::string> found;
  const DeviceInfo& info = device.info;
  if (info.kind != DeviceKind::cuda || !device.match.spec || info.mig.value_or(false)) return found;
  const DeviceSpec& spec = *device.match.spec;
  add_lower("power limit", info.power_limit_w, spec.tdp_w, " W", found);
  add_lower("SMs", info.sm_count, as_real(spec.sm_count), "", found);
  add_lower("highest SM clock", info.max_sm_clock_mhz, spec.max_sm_clock_mhz, " MHz", found);
  add_lower("memory clock", info.memory_clock_mhz, spec.memory_clock_mhz, " MHz", found);
  add_lower("memory bus", as_real(info.bus_bits), as_real(spec.memory_bus_bits), " bits", found);
  return found;
}

std::vector<std::string> standing_sentences(const Report& report) {
  std::vector<std::string> sentences;
  const std::vector<Standing> all = standings(report);
  for (const Standing& standing : all) {
    if (2 * standing.slow_cases <= standing.cases) continue;
    sentences.push_back(
        fmt::format("slow: device {} takes {:.1f} % longer than its like (median; more than {:.0f} "
                    "% in {} of {} "
                    "cases)",
                    report.devices[static_cast<std::size_t>(standing.device)].info.index,
                    100 * standing.lag, 100 * kSlowDevice, standing.slow_cases, standing.cases));
  }
  for (const ReportDevice& device : report.devices) {
    const std::vector<std::string> lower = below_catalogue(device);
    if (lower.empty()) continue;
    sentences.push_back(fmt::format("device {} has less than its catalogue entry: {}",
                                    device.info.index, join(lower, ", ")));
  }
  return sentences;
}

}  // namespace gpubench
