// SPDX-License-Identifier: Apache-2.0
// Devices of one report against each other and against the catalogue: which one is slow.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gpubench/report.h"

namespace gpubench {

/// Cards of one kind differ by some percent in the clock that their silicon reaches at a power
/// limit; what is slower by more than this share has a reason.
inline constexpr double kSlowDevice = 0.05;

/// A device beside the others of its name.
struct Standing {
  int device = 0;      ///< index into Report::devices
  int cases = 0;       ///< that it and at least one other have measured
  int slow_cases = 0;  ///< in which it is slower than the others' median by more than kSlowDevice
  double lag = 0;      ///< median over the cases of time / the others' median time - 1
};

/// Of each device that has others of its name, in their order.
std::vector<Standing> standings(const Report& report);

/// Adds W_SLOW_DEVICE and a remark, with what its readings say of the reason, to each result that
/// is slower than the same case on the others.
void remark_slow_devices(Report& report);

/// What the machine's own figures lack against the catalogue's: power limit, memory clock, memory
/// size. Empty: nothing, or no entry.
std::vector<std::string> below_catalogue(const ReportDevice& device);

/// Sentences for the end of the table: the device that lags, and what lacks against the catalogue.
std::vector<std::string> standing_sentences(const Report& report);

}  // namespace gpubench
