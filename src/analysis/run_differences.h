// SPDX-License-Identifier: Apache-2.0
// What differs between two runs beside their results: sentences for the head of a comparison.
#pragma once

#include <string>
#include <vector>

#include "gpubench/report.h"

namespace gpubench {

/// "NVIDIA H200 on node7, suite bert, 2026-12-01T10:00:00Z".
std::string describe_run(const Report& report);

/// Devices, power limits, clocks, ECC, libraries, version, policy. Same is not mentioned, and
/// neither is what one side does not know.
std::vector<std::string> run_differences(const Report& a, const Report& b);

}  // namespace gpubench
