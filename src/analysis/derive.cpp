// SPDX-License-Identifier: Apache-2.0
#include "analysis/derive.h"

#include <algorithm>
#include <initializer_list>

#include "analysis/roof.h"
#include "core/statistics.h"

namespace gpubench {
namespace {

/// A power cap in fewer readings than this changes the median too little to be worth a warning.
constexpr double kPowerCapShare = 0.05;
/// Set limits are whole watts; the driver reads them back with a rounding error.
constexpr double kPowerTolerance_w = 0.5;

void warn_if(Result& result, bool holds, const char* code) {
  if (holds && !has_warning(result, code)) result.warnings.push_back(code);
}

std::optional<double> percent(const std::optional<double>& value, const std::optional<double>& of) {
  if (!value || !of) return std::nullopt;
  return 100 * *value / *of;
}

Rate rates(const Work& work, double seconds) {
  Rate rate;
  if (work.flops > 0) rate.tflops = work.flops / seconds / 1e12;
  if (work.bytes > 0) rate.gb_per_s = work.bytes / seconds / 1e9;
  if (work.items > 0) rate.items_per_s = work.items / seconds;
  if (work.message_bytes > 0) {
    rate.algbw_gb_per_s = work.message_bytes / seconds / 1e9;
    if (work.bus_factor) rate.busbw_gb_per_s = *rate.algbw_gb_per_s * *work.bus_factor;
  }
  return rate;
}

/// What is known before the rates: the type, and the clock where the device counted its cycles.
Peak known_peak(const Peak& given) {
  Peak peak;
  peak.dtype = given.dtype;
  if (given.clock_source == "cycles") {
    peak.clock_mhz = given.clock_mhz;
    peak.clock_source = given.clock_source;
  }
  return peak;
}

/// Which of the two published peaks takes longer for this work; empty where one of them is not
/// known.
std::string binding_roof(const Work& work, const std::optional<double>& tflops,
                         const std::optional<double>& gb_per_s, bool has_dtype) {
  if (work.bytes > 0 && gb_per_s && (work.flops <= 0 || !has_dtype)) return "memory";
  if (work.flops > 0 && tflops && work.bytes <= 0) return "compute";
  if (work.flops <= 0 || work.bytes <= 0 || !tflops || !gb_per_s) return {};
  const double compute_s = work.flops / (*tflops * 1e12);
  const double memory_s = work.bytes / (*gb_per_s * 1e9);
  return compute_s >= memory_s ? "compute" : "memory";
}

/// TFLOP/s to hold against the peak at the clock: a counted clock is a mean, so the mean time
/// belongs to it. Together they are the cycles of an iteration, exactly, however the clock moved.
std::optional<double> tflops_of_clock(const Result& result, const Peak& peak) {
  if (peak.clock_source != "cycles") return result.rate.tflops;
  return rates(*result.work, result.time_s->mean).tflops;
}

void fill_peak(Result& result, const ReportDevice& device) {
  Peak peak = known_peak(result.peak);
  // Most readings of a burst are of the rests between the samples.
  if (!peak.clock_mhz && result.mode != "burst" && result.telemetry &&
      result.telemetry->sm_clock_median_mhz) {
    peak.clock_mhz = result.telemetry->sm_clock_median_mhz;
    peak.clock_source = "nvml";
  }
  if (!result.emulated && device.info.kind == DeviceKind::cuda) {
    const auto datasheet = datasheet_tflops(device, peak.dtype);
    const auto bandwidth = memory_gb_per_s(device, *result.work);
    const auto link = link_gb_per_s(device, *result.work);
    peak.datasheet_pct = percent(result.rate.tflops, datasheet);
    peak.at_clock_pct =
        percent(tflops_of_clock(result, peak), tflops_at_clock(device, peak.dtype, peak.clock_mhz));
    peak.memory_pct = percent(result.rate.gb_per_s, bandwidth);
    peak.link_pct = percent(result.rate.gb_per_s, link);
    peak.bound =
        link ? "link" : binding_roof(*result.work, datasheet, bandwidth, !peak.dtype.empty());
  }
  result.peak = peak;
}

void warn_of_numbers(Result& result) {
  const Peak& peak = result.peak;
  warn_if(result, peak.at_clock_pct && *peak.at_clock_pct > 100, "W_ABOVE_CLOCK_PEAK");
  warn_if(result, peak.datasheet_pct && *peak.datasheet_pct > 100, "W_ABOVE_DATASHEET");
  warn_if(result, peak.memory_pct && *peak.memory_pct > 100 && result.cache == "cold",
          "W_CACHE_RESIDENT");
}

void warn_of_device(Result& result, const ReportDevice& device) {
  if (device.info.kind != DeviceKind::cuda) return;
  warn_if(result, !device.match.spec, "W_UNKNOWN_DEVICE");
  warn_if(result, !result.telemetry, "W_NO_NVML");
  const auto seen = [&](std::initializer_list<const char*> reasons, double more_than) {
    const auto share = throttle_share(result, reasons);
    return share && *share > more_than;
  };
  warn_if(result, seen({"sw_power_cap"}, kPowerCapShare), "W_POWER_CAP");
  warn_if(result, seen({"sw_thermal", "hw_thermal"}, 0), "W_THERMAL");
  warn_if(result, seen({"hw_slowdown", "hw_power_brake"}, 0), "W_HW_SLOWDOWN");
  warn_if(result, counted(result, {"ecc_corrected", "ecc_uncorrected", "remapped_rows"}) > 0,
          "W_ECC_ERRORS");
  warn_if(result, counted(result, {"pcie_replays"}) > 0, "W_PCIE_ERRORS");
  // The generation falls on an idle card and comes back with the load; lanes do not fall.
  const bool crosses_pcie = result.work && result.work->bytes_over.starts_with("pcie");
  const auto& lanes = device.info.pcie_width;
  const auto& most_lanes = device.info.pcie_max_width;
  const auto& most_gen = device.info.pcie_max_gen;
  const int gen = result.telemetry ? result.telemetry->pcie_gen.value_or(0) : 0;  // 0: unknown
  warn_if(result,
          crosses_pcie && ((lanes && most_lanes && *lanes < *most_lanes) ||
                           (gen > 0 && most_gen && gen < *most_gen)),
          "W_PCIE_DEGRADED");
  warn_if(result, device.info.other_processes.value_or(0) > 0, "W_GPU_BUSY");
  const auto& limit = device.info.power_limit_w;
  const auto& usual = device.info.default_power_limit_w;
  warn_if(result, limit && usual && *limit < *usual - kPowerTolerance_w, "W_POWER_LIMIT_REDUCED");
}

void warn_of_conditions(Result& result) {
  const Measurement& measurement = *result.measurement;
  // Sampling ends with "noise" where the target is reached; a plateau is short of it, too.
  const auto& stop = measurement.stop;
  warn_if(result, stop == "max_time" || stop == "max_samples" || stop == "plateau",
          "W_NOT_CONVERGED");
  warn_if(result, measurement.launch_bound, "W_LAUNCH_BOUND");
  warn_if(result, !(measurement.warmup_s > 0) && result.mode != "burst", "W_NO_WARMUP");
  warn_if(result, result.data_dist == "zeros" || result.data_dist == "ones", "W_LOW_ENTROPY_DATA");
}

}  // namespace

bool has_warning(const Result& result, const char* code) {
  return std::find(result.warnings.begin(), result.warnings.end(), code) != result.warnings.end();
}

std::optional<double> throttle_share(const Result& result,
                                     std::initializer_list<const char*> reasons) {
  if (!result.telemetry || !result.telemetry->throttle) return std::nullopt;
  double share = 0;  // reasons never seen are left out of the map
  for (const char* reason : reasons) {
    const auto found = result.telemetry->throttle->find(reason);
    if (found != result.telemetry->throttle->end()) share = std::max(share, found->second);
  }
  return share;
}

double counted(const Result& result, std::initializer_list<const char*> errors) {
  if (!result.telemetry || !result.telemetry->errors) return 0;
  double count = 0;
  for (const char* error : errors) {
    const auto found = result.telemetry->errors->find(error);
    if (found != result.telemetry->errors->end()) count += found->second;
  }
  return count;
}

std::optional<double> relative_half_width(const Stats& stats) {
  if (!stats.ci95_low || !stats.ci95_high || !(stats.median > 0)) return std::nullopt;
  return (*stats.ci95_high - *stats.ci95_low) / 2 / stats.median;
}

void derive(Result& result, const ReportDevice& device) {
  result.time_s.reset();
  result.rate = {};
  result.peak = known_peak(result.peak);
  if (!result.measurement || result.status == Status::skipped || result.status == Status::not_run) {
    return;
  }
  result.time_s = compute_stats(result.measurement->samples_s, result.measurement->stop);
  if (!result.time_s) return;
  if (result.telemetry && result.telemetry->power_by_energy_w) {
    result.telemetry->energy_j_per_iteration =
        *result.telemetry->power_by_energy_w * result.time_s->mean;
  }
  if (result.work) {
    result.rate = rates(*result.work, result.time_s->median);
    fill_peak(result, device);
    warn_of_numbers(result);
  }
  warn_of_device(result, device);
  warn_of_conditions(result);
}

}  // namespace gpubench
