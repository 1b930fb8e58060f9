// SPDX-License-Identifier: Apache-2.0
// Environment variables that change what a number means.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "gpubench/report.h"

namespace gpubench {

/// One sentence for each recorded variable that slows this result down or makes it something else
/// than it says; for results of a GPU. Empty where there is none.
std::vector<std::string> slowing_environment(const std::map<std::string, std::string>& environment,
                                             const Result& result);

}  // namespace gpubench
