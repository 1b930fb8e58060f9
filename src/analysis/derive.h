// SPDX-License-Identifier: Apache-2.0
// From what was measured to what is reported: statistics, rates, percentages of peaks, warnings.
//   time per iteration = median of the samples
//   TFLOP/s = work.flops / time,  GB/s = work.bytes / time
//   algorithm bandwidth = work.message_bytes / time,  bus bandwidth = that x work.bus_factor
//   datasheet_pct = TFLOP/s / the SKU's published dense peak for peak.dtype
//   at_clock_pct  = TFLOP/s / (SMs x FLOP per clock and SM x SM clock while measuring)
//   memory_pct    = GB/s / the SKU's published memory bandwidth, where the bytes cross the memory
//   link_pct      = GB/s / the SKU's published bandwidth of the link, where they cross one
//   bound         = "compute" if flops at the dense peak take longer than bytes at the bandwidth
// Emulated results, the cpu and unknown devices have no percentages. Nothing is clamped at 100.
#pragma once

#include <initializer_list>
#include <optional>

#include "gpubench/report.h"

namespace gpubench {

/// Fills time_s, rate and peak and adds to warnings, each code once. Of the peak, dtype is input,
/// and so is the clock where the job counted cycles itself. A result without measurement or one
/// that did not run gets neither numbers nor warnings. `result.telemetry` is nullopt only where the
/// device could not be read at all (W_NO_NVML).
void derive(Result& result, const ReportDevice& device);

/// Whether a result carries a warning.
bool has_warning(const Result& result, const char* code);

/// Share of readings (0..1) with any of the given clocks event reasons; nullopt where not readable.
std::optional<double> throttle_share(const Result& result,
                                     std::initializer_list<const char*> reasons);

/// Errors of these kinds that were counted while measuring; 0 where none is readable.
double counted(const Result& result, std::initializer_list<const char*> errors);

/// Half-width of the interval of the median over the median.
std::optional<double> relative_half_width(const Stats& stats);

}  // namespace gpubench
