// SPDX-License-Identifier: Apache-2.0
// A Report as JSON "gpubench.report/1". Every key of the schema is there; what is not known is
// null. The text is valid UTF-8 whatever the strings hold, and does not depend on the locale.
#pragma once

#include <span>
#include <string>

#include "gpubench/report.h"

namespace gpubench {

/// The whole report, indented; arrays of plain values take one line each. Ends with a newline.
/// Times of telemetry readings are written relative to the case's first sample.
std::string to_json(const Report& report);

/// {"driver", "devices": as in a report}.
std::string devices_to_json(std::span<const ReportDevice> devices, const std::string& driver);
/// Entries of the catalogue as a list.
std::string specs_to_json(std::span<const DeviceSpec> specs);

/// One result on one line, without the newline: a line of the journal.
std::string result_line(const Result& result);

/// The report without its results on one line, without the newline: the first line of the journal,
/// so never `complete`.
std::string header_line(const Report& report);

}  // namespace gpubench
