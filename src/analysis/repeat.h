// SPDX-License-Identifier: Apache-2.0
// One result from several runs of the same case in processes of their own. Runs differ by more than
// the samples within one: other addresses, another choice among close algorithms, another clock.
#pragma once

#include <vector>

#include "gpubench/report.h"

namespace gpubench {

/// Where every run is ok: the run whose median is the middle one (of an even number the faster of
/// the two), with the medians of all in `repeats`. Else the first of the worst, without. The runs
/// are of one case and derived; at least one.
Result combine_runs(std::vector<Result> runs);

/// (slowest - fastest) / middle of the medians; nullopt for fewer than two.
std::optional<double> spread_between_runs(const Result& result);

}  // namespace gpubench
