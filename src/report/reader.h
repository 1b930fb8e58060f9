// SPDX-License-Identifier: Apache-2.0
// JSON "gpubench.report/1" to a Report; the inverse of writer.h. Keys that are not known are
// ignored (a newer minor version adds some), keys that are missing count as null.
#pragma once

#include <string>
#include <string_view>

#include "gpubench/report.h"

namespace gpubench {

/// Throws ConfigError: file:line:column for text that is not JSON, the schema that is not ours, or
/// the JSON path of a value of the wrong type.
Report read_report(const std::string& path);

/// The same for text; `origin` names it in errors. JSON null for a plain double is read as NaN.
Report parse_report(std::string_view text, std::string_view origin);

/// One line of the journal.
Result parse_result(std::string_view line, std::string_view origin);

/// The first line of the journal: a report without results.
Report parse_header(std::string_view line, std::string_view origin);

}  // namespace gpubench
