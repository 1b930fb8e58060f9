// SPDX-License-Identifier: Apache-2.0
// One case on several devices at the same time: what they share (power, cooling, the host) shows.
#pragma once

#include <span>
#include <stop_token>
#include <vector>

#include "app/case_runner.h"

namespace gpubench {

/// Each runner in a thread of its own. Sampling begins together, and every device stays under load
/// until the last has its samples; one that can't run the case leaves the others to it. Results in
/// the order of the runners.
std::vector<Result> run_at_once(std::span<CaseRunner* const> runners, const Case& work,
                                const std::stop_token& stop);

}  // namespace gpubench
