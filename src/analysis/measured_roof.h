// SPDX-License-Identifier: Apache-2.0
// Rates set against the best that this very card did in the same report: for an unknown device the
// only percentage there is.
#pragma once

#include <vector>

#include "gpubench/report.h"

namespace gpubench {

/// Fills peak.of_measured_roof_pct of every ok result from the results of its own device: of the
/// fastest ops/gemm of the same type, or where memory binds of the fastest micro/memory copy, both
/// with a cold cache. Where the catalogue does not tell which of the two binds, the one of the
/// measured roofs that takes longer does. nullopt without such a roof, and for emulated results.
void fill_measured_roofs(std::vector<Result>& results);

}  // namespace gpubench
