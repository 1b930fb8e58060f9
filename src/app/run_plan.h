// SPDX-License-Identifier: Apache-2.0
// What a run was asked for, resolved: its cases, and how they are sampled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "app/exit_code.h"
#include "app/run_options.h"
#include "core/stopping.h"
#include "core/suite.h"
#include "gpubench/report.h"

namespace gpubench {

struct RunPlan {
  std::vector<Case> cases;
  /// How many cases follow each other as one group: 1, or with --pair those sampled in turn.
  std::vector<std::size_t> groups;
  SamplingPolicy policy;
  SuiteInfo suite;
};

/// Throws ConfigError for everything that is wrong in the options or the suite.
RunPlan plan_run(const RunOptions& options, DeviceKind kind);

/// Device memory of a case. Throws ConfigError for sizes that overflow, so before anything runs.
std::uint64_t footprint_of(const Case& work, const DeviceInfo& info);

/// Each case in a process of its own.
bool runs_isolated(const RunOptions& options);
/// Throws ConfigError where a case with at_once=1 can't run on so many devices, or isolated.
void require_at_once_possible(const RunPlan& plan, std::size_t devices, bool isolated);

/// Prints the cases and their memory. A machine without a GPU can still show what a suite holds;
/// sizes then are of an assumed device.
ExitCode dry_run_anywhere(const RunOptions& options);

}  // namespace gpubench
