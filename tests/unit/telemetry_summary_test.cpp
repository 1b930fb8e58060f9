// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "gpubench/telemetry.h"

namespace gpubench {
namespace {

TelemetryReading reading(double t_s, double clock, double power, std::uint64_t reasons) {
  TelemetryReading result;
  result.t_s = t_s;
  result.sm_clock_mhz = clock;
  result.power_w = power;
  result.temperature_c = 40 + t_s;
  result.event_reasons = reasons;
  return result;
}

TEST(TelemetrySummary, LooksAtTheWindowOnly) {
  const std::vector<TelemetryReading> readings{
      reading(0, 300, 100, 0x1), reading(1, 1980, 600, 0x4), reading(2, 1500, 700, 0x4 | 0x20),
      reading(3, 1400, 690, 0), reading(4, 100, 90, 0x80)};
  const Telemetry telemetry = summarize(readings, 1, 3);
  EXPECT_EQ(telemetry.sm_clock_median_mhz, 1500);
  EXPECT_EQ(telemetry.sm_clock_min_mhz, 1400);
  EXPECT_EQ(telemetry.power_median_w, 690);
  EXPECT_EQ(telemetry.temperature_max_c, 43);
  EXPECT_FALSE(telemetry.energy_j_per_iteration.has_value());
  ASSERT_TRUE(telemetry.throttle.has_value());
  EXPECT_EQ(telemetry.throttle->size(), 2u);
  EXPECT_DOUBLE_EQ(telemetry.throttle->at("sw_power_cap"), 2.0 / 3);
  EXPECT_DOUBLE_EQ(telemetry.throttle->at("sw_thermal"), 1.0 / 3);
  EXPECT_EQ(telemetry.series.size(), 3u);
}

TEST(TelemetrySummary, OfSeveralSpans) {
  std::vector<TelemetryReading> readings;
  for (int i = 0; i < 40; ++i) {
    readings.push_back(reading(0.1 * i, i % 20 < 10 ? 1900 : 1400, i % 20 < 10 ? 500 : 700, 0));
    readings.back().energy_j = 70.0 * i;
  }
  // Of the first side's turns: 1 s each, the first 0.3 s dropped.
  const std::vector<TimeSpan> turns{{0.3, 0.95}, {2.3, 2.95}};
  const Telemetry telemetry = summarize(readings, turns);
  EXPECT_EQ(telemetry.sm_clock_median_mhz, 1900);
  EXPECT_EQ(telemetry.power_median_w, 500);
  EXPECT_FALSE(telemetry.power_by_energy_w.has_value());
  const std::vector<TimeSpan> short_turns{{0.3, 0.35}, {0.5, 0.55}};
  const Telemetry short_ones = summarize(readings, short_turns);
  EXPECT_EQ(short_ones.sm_clock_median_mhz, 1900);
  EXPECT_FALSE(short_ones.power_median_w.has_value());
}

TEST(TelemetrySummary, HardwareSlowdownsFromTheReadingBeforeToTheOneAfter) {
  const std::vector<TelemetryReading> readings{
      reading(0, 1900, 500, 0),        reading(1, 1900, 500, 0x4),  reading(2, 900, 300, 0x8),
      reading(3, 900, 300, 0x8 | 0x4), reading(4, 1900, 500, 0x20), reading(5, 1900, 500, 0),
      reading(6, 900, 300, 0x80)};
  const std::vector<TimeSpan> expected{{1, 4}, {5, 6}};
  EXPECT_EQ(summarize(readings, 0, 6).slowdowns, expected);
  EXPECT_TRUE(summarize(readings, 0, 1).slowdowns.empty());
}

TEST(TelemetrySummary, UnsupportedIsNull) {
  const Telemetry nothing = summarize({}, 0, 1);
  EXPECT_FALSE(nothing.sm_clock_median_mhz.has_value());
  EXPECT_FALSE(nothing.power_median_w.has_value());
  EXPECT_FALSE(nothing.temperature_max_c.has_value());
  EXPECT_FALSE(nothing.throttle.has_value());
  const Telemetry unreadable = summarize({TelemetryReading{}}, 0, 1);
  EXPECT_FALSE(unreadable.sm_clock_min_mhz.has_value());
  EXPECT_FALSE(unreadable.throttle.has_value());
  const Telemetry calm = summarize({reading(0.5, 1980, 300, 0)}, 0, 1);
  ASSERT_TRUE(calm.throttle.has_value());
  EXPECT_TRUE(calm.throttle->empty());
}

TEST(TelemetrySummary, NanIsNoReading) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Telemetry telemetry =
      summarize({reading(0.2, nan, nan, 0), reading(0.4, 1000, nan, 0)}, 0, 1);
  EXPECT_EQ(telemetry.sm_clock_median_mhz, 1000);
  EXPECT_FALSE(telemetry.power_median_w.has_value());
}

TEST(TelemetrySummary, NamesEveryReason) {
  const Telemetry telemetry = summarize({reading(0, 1, 1, 0xff)}, 0, 0);
  ASSERT_TRUE(telemetry.throttle.has_value());
  for (const char* name : {"sw_power_cap", "hw_slowdown", "sw_thermal", "hw_thermal",
                           "hw_power_brake", "gpu_idle", "sync_boost", "app_clocks"}) {
    EXPECT_EQ(telemetry.throttle->count(name), 1u) << name;
  }
}

TEST(TelemetrySummary, ThinsTheSeries) {
  std::vector<TelemetryReading> readings;
  for (int i = 0; i < 1234; ++i) readings.push_back(reading(i, 1000, 500, 0));
  const Telemetry telemetry = summarize(readings, 0, 2000);
  ASSERT_EQ(telemetry.series.size(), 200u);
  EXPECT_EQ(telemetry.series.front().t_s, 0);
  EXPECT_EQ(telemetry.series.back().t_s, 1233);
  for (std::size_t i = 1; i < telemetry.series.size(); ++i) {
    const double gap = telemetry.series[i].t_s - telemetry.series[i - 1].t_s;
    EXPECT_TRUE(gap == 6 || gap == 7) << gap;
  }
}

TEST(SteadySeconds, OnlyGrows) {
  const double before = steady_seconds();
  EXPECT_GE(steady_seconds(), before);
}

TEST(TelemetrySummary, PowerByTheEnergyCounter) {
  // 500 W; the counter moves every 100 ms, the readings come every 20 ms.
  std::vector<TelemetryReading> readings;
  for (int i = 0; i <= 100; ++i) {
    TelemetryReading at;
    at.t_s = 0.02 * i;
    at.energy_j = 1e6 + 50 * (i / 5);
    readings.push_back(at);
  }
  ASSERT_TRUE(summarize(readings, 0, 2).power_by_energy_w.has_value());
  EXPECT_NEAR(*summarize(readings, 0, 2).power_by_energy_w, 500, 1e-6);
  EXPECT_NEAR(*summarize(readings, 0.33, 1.71).power_by_energy_w, 500, 1e-6);
  EXPECT_FALSE(summarize(readings, 0, 0.3).power_by_energy_w.has_value()) << "too short";
  for (TelemetryReading& reading : readings) reading.energy_j = 1e6;
  EXPECT_FALSE(summarize(readings, 0, 2).power_by_energy_w.has_value()) << "it stands still";
  for (TelemetryReading& reading : readings) reading.energy_j.reset();
  EXPECT_FALSE(summarize(readings, 0, 2).power_by_energy_w.has_value());
}

TEST(TelemetryCounters, GrowthOfWhatBothHave) {
  Telemetry telemetry;
  const Readings grown{{"power", 0.5}};
  add_counters(
      telemetry, {.throttled_s = {{"power", 10}, {"thermal", 5}, {"gone", 1}}, .errors = {}},
      {.throttled_s = {{"power", 10.5}, {"thermal", 0}, {"new", 1}}, .errors = {{"x", 1}}});
  EXPECT_EQ(telemetry.throttled_s, std::optional(grown)) << "a reset counter says nothing";
  EXPECT_FALSE(telemetry.errors.has_value());
}

}  // namespace
}  // namespace gpubench
