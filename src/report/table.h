// SPDX-License-Identifier: Apache-2.0
// A report for people: device and conditions, one line per case, why a number is low, a summary.
#pragma once

#include <string>

#include "gpubench/report.h"
#include "report/text_table.h"

namespace gpubench {

/// Takes results as derived (src/analysis/derive.h) with their remarks.
std::string result_table(const Report& report, const TableOptions& options = {});

/// Cases by status.
Summary count_results(const std::vector<Result>& results, double wall_s);

/// "27 ok, 1 skipped".
std::string summary_text(const Summary& summary);

/// "NVIDIA H200 (H200 SXM 141GB)": the name the device reports, and its catalogue entry if it has
/// one.
std::string device_text(const ReportDevice& device);

}  // namespace gpubench
