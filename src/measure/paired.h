// SPDX-License-Identifier: Apache-2.0
// Times jobs in turn, A B A B ... A, so that what drifts on the card meets all of them alike.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <vector>

#include "core/statistics.h"
#include "core/stopping.h"
#include "gpubench/device.h"
#include "gpubench/report.h"
#include "gpubench/telemetry.h"
#include "gpubench/workload.h"
#include "measure/device_clock.h"
#include "measure/sampler.h"

namespace gpubench {

struct PairedSide {
  Measurement measurement;
  std::vector<TimeSpan> turns;  ///< when its samples were taken
  /// Median of its turns' counted clocks, what is dropped of them included.
  std::optional<double> clock_mhz;
};

struct PairedMeasurement {
  std::vector<PairedSide> sides;  ///< in the order of the jobs
  /// Of each job but the first: its time over the first one's.
  std::vector<std::optional<Ratio>> ratios;
};

/// Whether the card was held back by its power limit between two times. Then each side is given
/// long turns, in which it finds its own clock; otherwise short ones, which follow any drift more
/// closely.
using PowerBoundFn = std::function<bool(double begin_s, double end_s)>;

/// Where power binds turns last 1.3 s, of which the first 0.3 s are dropped, and count as their
/// mean: over a period of the power limit's control. Else they last 50 ms, the first 10 ms dropped,
/// and count as their median. Throws as measure() does. Needs two jobs at least; without a probe no
/// clock is counted.
PairedMeasurement measure_paired(Device& device, Stream& stream, const std::vector<Job*>& jobs,
                                 const SamplingPolicy& policy, const std::stop_token& stop,
                                 const ProgressFn& progress, const PowerBoundFn& power_bound,
                                 ClockProbe* probe = nullptr, double hang_s = 60);

}  // namespace gpubench
