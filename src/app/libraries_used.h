// SPDX-License-Identifier: Apache-2.0
// The libraries that a report's results were measured with.
#pragma once

#include <string>
#include <vector>

#include "gpubench/report.h"
#include "libs/libraries.h"

namespace gpubench {

/// Every library by name; one that was not loaded has no version. Waits while one is being loaded.
decltype(Report::libraries) loaded_libraries(Libraries& libraries);

/// Adds what was loaded to what the report has; what was not loaded takes nothing away. Returns a
/// warning for each library whose version changed (a resumed run).
std::vector<std::string> add_libraries(decltype(Report::libraries)& used,
                                       const decltype(Report::libraries)& loaded);

}  // namespace gpubench
