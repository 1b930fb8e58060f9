// SPDX-License-Identifier: Apache-2.0
// The cases that a run leaves behind when it has to end before them.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "core/suite.h"
#include "gpubench/report.h"

namespace gpubench {

/// Adds a result, not run for `reason`, for each case on each device that has none. Returns the
/// index of the first: the case that was under way.
std::optional<std::size_t> add_unfinished(Report& report, std::span<const Case> cases,
                                          const Reason& reason);

}  // namespace gpubench
