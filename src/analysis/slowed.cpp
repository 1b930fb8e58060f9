// SPDX-License-Identifier: Apache-2.0
#include "analysis/slowed.h"

#include <algorithm>
#include <numeric>

namespace gpubench {
namespace {

bool overlaps(const TimeSpan& span, double from, double to) {
  return span.first < to && from < span.second;
}

}  // namespace

void mark_slowed_samples(Measurement& measurement, const Telemetry& telemetry) {
  measurement.slowed.reset();
  if (!telemetry.throttle || measurement.block_s) return;
  auto& runs = measurement.slowed.emplace();
  const auto count = static_cast<std::int64_t>(measurement.samples_s.size());
  if (count == 0 || telemetry.slowdowns.empty()) return;
  const auto batch = static_cast<double>(measurement.batch);
  const double sampled_s =
      batch * std::accumulate(measurement.samples_s.begin(), measurement.samples_s.end(), 0.0);
  // What is left of the duration lies between the samples: the rests of a burst.
  const double pause_s = std::max(0.0, measurement.end_s - measurement.begin_s - sampled_s) /
                         static_cast<double>(count);
  double to = measurement.begin_s;
  for (std::int64_t i = 0; i < count; ++i) {
    const double from = to + pause_s;
    to = from + batch * measurement.samples_s[static_cast<std::size_t>(i)];
    const bool slowed = std::any_of(telemetry.slowdowns.begin(), telemetry.slowdowns.end(),
                                    [&](const TimeSpan& span) { return overlaps(span, from, to); });
    if (!slowed) continue;
    if (!runs.empty() && runs.back().second == i - 1) {
      runs.back().second = i;
    } else {
      runs.emplace_back(i, i);
    }
  }
}

}  // namespace gpubench
