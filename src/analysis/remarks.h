// SPDX-License-Identifier: Apache-2.0
// Why a number is low, or not to be trusted, in plain words with the readings that say so.
#pragma once

#include <string>
#include <vector>

#include "gpubench/report.h"

namespace gpubench {

/// Takes a derived result. Empty where nothing needs saying: no warning, and at least 60 % of what
/// the datasheet (or, where memory binds, the memory bandwidth) gives. Faults of the measurement
/// come first.
std::vector<std::string> remarks(const Result& result, const ReportDevice& device);

}  // namespace gpubench
