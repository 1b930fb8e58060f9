// SPDX-License-Identifier: Apache-2.0
// The limits that a rate is set against. nullopt where a figure is not known: there is no default.
#pragma once

#include <optional>
#include <string>

#include "gpubench/report.h"

namespace gpubench {

/// Published dense peak in TFLOP/s for a key of `spec.dense_tflops`.
std::optional<double> datasheet_tflops(const ReportDevice& device, const std::string& dtype);

/// SMs x FLOP per clock and SM x clock: what the device could do at that clock, in TFLOP/s.
std::optional<double> tflops_at_clock(const ReportDevice& device, const std::string& dtype,
                                      const std::optional<double>& sm_clock_mhz);

/// The SM clock that the published peak stands for, in MHz.
std::optional<double> datasheet_clock_mhz(const ReportDevice& device, const std::string& dtype);

/// Published memory bandwidth in GB/s; nullopt where the work's bytes do not cross the memory.
std::optional<double> memory_gb_per_s(const ReportDevice& device, const Work& work);

/// Published bandwidth in GB/s of the link that a work's bytes cross, both directions where it uses
/// both; nullopt where they cross none.
std::optional<double> link_gb_per_s(const ReportDevice& device, const Work& work);

}  // namespace gpubench
