// SPDX-License-Identifier: Apache-2.0
// Samples that were taken while the hardware slowed the device down.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "analysis/slowed.h"

namespace gpubench {
namespace {

using Runs = std::vector<std::pair<std::int64_t, std::int64_t>>;

Measurement measurement_of(std::vector<double> samples_s, std::int64_t batch, double duration_s) {
  Measurement measurement;
  measurement.samples_s = std::move(samples_s);
  measurement.batch = batch;
  measurement.begin_s = 100;
  measurement.end_s = 100 + duration_s;
  return measurement;
}

Telemetry telemetry_of(std::vector<TimeSpan> slowdowns) {
  Telemetry telemetry;
  telemetry.throttle.emplace();
  telemetry.slowdowns = std::move(slowdowns);
  return telemetry;
}

TEST(SlowedSamples, AreThoseThatOverlap) {
  // Ten samples of two iterations of 0.5 s.
  Measurement measurement = measurement_of(std::vector<double>(10, 0.5), 2, 10);
  mark_slowed_samples(measurement, telemetry_of({{102.5, 104.5}, {109.2, 120}}));
  EXPECT_EQ(measurement.slowed, (Runs{{2, 4}, {9, 9}}));
}

TEST(SlowedSamples, RestsOfABurstCount) {
  // One second of work, one of rest.
  Measurement measurement = measurement_of(std::vector<double>(5, 1.0), 1, 10);
  mark_slowed_samples(measurement, telemetry_of({{104.1, 104.9}}));
  EXPECT_EQ(measurement.slowed, Runs{});
  mark_slowed_samples(measurement, telemetry_of({{105.1, 105.9}}));
  EXPECT_EQ(measurement.slowed, (Runs{{2, 2}}));
}

TEST(SlowedSamples, NoneAndNotReadableAreDifferent) {
  Measurement measurement = measurement_of({1, 1}, 1, 2);
  mark_slowed_samples(measurement, telemetry_of({}));
  EXPECT_EQ(measurement.slowed, Runs{});
  mark_slowed_samples(measurement, Telemetry{});
  EXPECT_FALSE(measurement.slowed.has_value());
}

}  // namespace
}  // namespace gpubench
