// SPDX-License-Identifier: Apache-2.0
// A case in a process of its own (`--isolate`): a crash, a hang or a lost device ends that case.
#pragma once

#include <stop_token>

#include "app/run_options.h"
#include "core/stopping.h"
#include "core/suite.h"
#include "gpubench/report.h"

namespace gpubench {

struct IsolatedResult {
  Result result;  ///< `not_run` with E_INTERRUPTED where the stop came first; `failed` with E_CRASH
  decltype(Report::libraries) libraries;  ///< that the process loaded
};

/// Runs this program again with the one case and the same conditions, and takes its result. When a
/// stop is requested the process is interrupted, and killed where it does not end. It ends with
/// this one. Throws Error E_ISOLATE where no process can be started.
IsolatedResult run_isolated(const Case& work, const ReportDevice& device, int device_index,
                            const SamplingPolicy& policy, const RunOptions& options,
                            const std::stop_token& stop);

}  // namespace gpubench
