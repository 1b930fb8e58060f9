// SPDX-License-Identifier: Apache-2.0
// Rates, percentages and warnings against numbers worked out by hand.
#include <gtest/gtest.h>

#include "analysis/derive.h"
#include "analysis/roof.h"
#include "tests/unit/report_samples.h"

namespace gpubench {
namespace {

Result derived(Result result, const ReportDevice& device = sample_h200()) {
  derive(result, device);
  return result;
}

TEST(Derive, RatesAreWorkOverMedian) {
  Result result = sample_gemm(700);
  result.measurement->samples_s = {0.002, 0.001, 0.004};
  result.work->flops = 1e12;
  result.work->bytes = 4e9;
  result.work->items = 64;
  result = derived(result);
  EXPECT_DOUBLE_EQ(result.time_s->median, 0.002);
  EXPECT_EQ(result.time_s->n, 3);
  EXPECT_EQ(result.time_s->stop, "noise");
  EXPECT_DOUBLE_EQ(*result.rate.tflops, 500);
  EXPECT_DOUBLE_EQ(*result.rate.gb_per_s, 2000);
  EXPECT_DOUBLE_EQ(*result.rate.items_per_s, 32000);
  EXPECT_FALSE(result.rate.busbw_gb_per_s.has_value());
}

TEST(Derive, BandwidthsOfACollective) {
  Result result = sample_gemm(700);
  result.peak.dtype.clear();
  result.work = Work{};
  result.work->message_bytes = 275e6;
  result.work->bus_factor = 1.75;  // 8 ranks
  result.measurement->samples_s = {0.001, 0.001, 0.001};
  const Result eight = derived(result);
  EXPECT_DOUBLE_EQ(*eight.rate.algbw_gb_per_s, 275);
  EXPECT_DOUBLE_EQ(*eight.rate.busbw_gb_per_s, 481.25);
  EXPECT_FALSE(eight.rate.gb_per_s || eight.rate.tflops || eight.peak.memory_pct);
  EXPECT_EQ(eight.peak.bound, "");
  result.work->bus_factor.reset();
  const Result one = derived(result);
  EXPECT_DOUBLE_EQ(*one.rate.algbw_gb_per_s, 275);
  EXPECT_FALSE(one.rate.busbw_gb_per_s.has_value()) << "null, not 0";
}

TEST(Derive, AboveDatasheetIsAllowedAtBoostClock) {
  const Result result = derived(sample_gemm(1000, 1980));
  EXPECT_NEAR(*result.peak.datasheet_pct, 101.07, 0.1);  // 1000 / 989.4
  EXPECT_NEAR(*result.peak.at_clock_pct, 93.41, 0.1);    // 132 x 4096 x 1980 MHz = 1070.5
  EXPECT_TRUE(has_warning(result, "W_ABOVE_DATASHEET"));
  EXPECT_FALSE(has_warning(result, "W_ABOVE_CLOCK_PEAK"));
  EXPECT_EQ(result.status, Status::ok);
}

TEST(Derive, AboveThePeakAtTheClockIsAFault) {
  const Result result = derived(sample_gemm(1100, 1830));
  EXPECT_NEAR(*result.peak.at_clock_pct, 111.17, 0.1);  // 132 x 4096 x 1830 MHz = 989.4
  EXPECT_TRUE(has_warning(result, "W_ABOVE_CLOCK_PEAK"));
  EXPECT_EQ(result.status, Status::ok);
}

TEST(Derive, NormalResultHasNoWarning) {
  const Result result = derived(sample_gemm(700, 1440));
  EXPECT_NEAR(*result.peak.datasheet_pct, 70.75, 0.1);
  EXPECT_NEAR(*result.peak.at_clock_pct, 89.9, 0.1);
  EXPECT_EQ(result.peak.bound, "compute");
  EXPECT_TRUE(result.warnings.empty());
}

/// A result whose bytes cross something else than the memory: 50 GB/s.
Result crossing(const std::string& what) {
  Result result = sample_gemm(700);
  result.measurement->samples_s = sample_times(1e-3);
  result.work = Work{};
  result.work->bytes = 50e6;
  result.work->bytes_over = what;
  result.peak.dtype.clear();
  return result;
}

TEST(Derive, ATransferIsSetAgainstItsLink) {
  ReportDevice device = sample_h200();
  device.match.spec->pcie_gb_per_s = 63;
  const Result one_way = derived(crossing("pcie"), device);
  EXPECT_NEAR(*one_way.peak.link_pct, 100 * 50.0 / 63, 0.01);
  EXPECT_EQ(one_way.peak.bound, "link");
  EXPECT_FALSE(one_way.peak.memory_pct || one_way.peak.datasheet_pct || one_way.peak.at_clock_pct);
  const Result both_ways = derived(crossing("pcie_duplex"), device);
  EXPECT_NEAR(*both_ways.peak.link_pct, 100 * 50.0 / 126, 0.01);
  device.match.spec->pcie_gb_per_s.reset();
  const Result unknown = derived(crossing("pcie"), device);
  EXPECT_FALSE(unknown.peak.link_pct || unknown.peak.memory_pct);
  EXPECT_EQ(unknown.peak.bound, "");
}

TEST(Derive, FewerLanesThanTheCardHasAreToldOfATransfer) {
  ReportDevice device = sample_h200();
  device.info.pcie_width = 8;
  device.info.pcie_max_width = 16;
  EXPECT_TRUE(has_warning(derived(crossing("pcie"), device), "W_PCIE_DEGRADED"));
  EXPECT_FALSE(has_warning(derived(sample_gemm(700), device), "W_PCIE_DEGRADED"));
  device.info.pcie_width = 16;
  EXPECT_FALSE(has_warning(derived(crossing("pcie"), device), "W_PCIE_DEGRADED"));
}

TEST(Derive, LowerGenerationUnderLoadIsToldOfATransfer) {
  ReportDevice device = sample_h200();
  device.info.pcie_gen = 1;  // at rest
  device.info.pcie_max_gen = 5;
  Result transfer = crossing("pcie");
  transfer.telemetry.emplace();
  transfer.telemetry->pcie_gen = 5;
  EXPECT_FALSE(has_warning(derived(transfer, device), "W_PCIE_DEGRADED"));
  transfer.telemetry->pcie_gen = 3;
  EXPECT_TRUE(has_warning(derived(transfer, device), "W_PCIE_DEGRADED"));
}

TEST(Derive, NobodyPublishesAPeakOfTheL2) {
  const Result result = derived(crossing("l2"));
  EXPECT_TRUE(result.rate.gb_per_s.has_value());
  EXPECT_FALSE(result.peak.memory_pct || result.peak.link_pct);
  EXPECT_EQ(result.peak.bound, "");
}

TEST(Derive, TheClockIsNvmlsUnlessTheDeviceCountedItself) {
  const Result by_nvml = derived(sample_gemm(700, 1440));
  EXPECT_EQ(by_nvml.peak.clock_mhz, 1440);
  EXPECT_EQ(by_nvml.peak.clock_source, "nvml");
  Result counted = sample_gemm(700, 1440);
  counted.peak.clock_mhz = 1500;
  counted.peak.clock_source = "cycles";
  counted = derived(counted);
  EXPECT_EQ(counted.peak.clock_mhz, 1500);
  EXPECT_EQ(counted.peak.clock_source, "cycles");
  const double cycles = counted.time_s->mean * 1500e6;
  EXPECT_NEAR(*counted.peak.at_clock_pct, 100 * counted.work->flops / (132 * 4096 * cycles), 1e-9);
  // Once more: NVML's clock of an earlier pass is not taken for a counted one.
  EXPECT_EQ(derived(by_nvml).peak.clock_source, "nvml");
  counted.telemetry.reset();
  EXPECT_TRUE(derived(counted).peak.at_clock_pct.has_value()) << "without NVML";
}

TEST(Derive, ACountedClockThatMovedGoesWithTheMeanTime) {
  // Two thirds of the time at 1500 MHz, one third at 900, and 80 % of what the SMs can do in both.
  Result result = sample_gemm(700, 1500);
  const double fast = result.work->flops / (0.8 * 132 * 4096 * 1500e6), slow = fast * 1500 / 900;
  std::vector<double> samples(100, fast);
  samples.resize(130, slow);
  result.measurement->samples_s = samples;
  result.peak.clock_mhz = (100 * fast * 1500 + 30 * slow * 900) / (100 * fast + 30 * slow);
  result.peak.clock_source = "cycles";
  EXPECT_NEAR(*derived(result).peak.at_clock_pct, 80, 1e-6);
}

TEST(Derive, UnknownDeviceHasNoPercentage) {
  ReportDevice device = sample_h200();
  device.match = {std::nullopt, "none: PCI id 0x9999 is not in the catalogue"};
  const Result result = derived(sample_gemm(5000), device);
  EXPECT_NEAR(*result.rate.tflops, 5000, 20);
  EXPECT_FALSE(result.peak.datasheet_pct || result.peak.at_clock_pct || result.peak.memory_pct);
  EXPECT_EQ(result.peak.bound, "");
  EXPECT_TRUE(has_warning(result, "W_UNKNOWN_DEVICE"));
  EXPECT_EQ(result.warnings.size(), 1U);  // nothing about more than 100 %
}

TEST(Derive, CpuAndEmulatedHaveNoPercentageAndNoGpuWarnings) {
  Result result = sample_gemm(0.1);
  result.telemetry.reset();
  result.emulated = true;
  const Result on_cpu = derived(result, sample_cpu());
  EXPECT_TRUE(on_cpu.rate.tflops.has_value());
  EXPECT_FALSE(on_cpu.peak.datasheet_pct || on_cpu.peak.memory_pct);
  EXPECT_TRUE(on_cpu.warnings.empty());
  EXPECT_FALSE(derived(result).peak.datasheet_pct.has_value());
}

TEST(Derive, MissingFiguresGiveNullNotADefault) {
  Result other_type = sample_gemm(700);
  other_type.peak.dtype = "int8";  // not in the sample's spec
  EXPECT_FALSE(derived(other_type).peak.datasheet_pct || derived(other_type).peak.at_clock_pct);
  Result no_clock = sample_gemm(700);
  no_clock.telemetry->sm_clock_median_mhz.reset();
  EXPECT_FALSE(derived(no_clock).peak.at_clock_pct.has_value());
  EXPECT_TRUE(derived(no_clock).peak.datasheet_pct.has_value());
  EXPECT_FALSE(has_warning(derived(no_clock), "W_NO_NVML"));
  Result no_type = sample_gemm(700);
  no_type.peak.dtype.clear();
  EXPECT_FALSE(derived(no_type).peak.datasheet_pct.has_value());
}

TEST(Derive, BoundIsTheRoofThatTakesLonger) {
  // H200, BF16: 989.4 TFLOP/s and 4.8 TB/s balance at 206 FLOP per byte.
  Result result = sample_gemm(700);
  result.work->flops = 205e9;
  result.work->bytes = 1e9;
  EXPECT_EQ(derived(result).peak.bound, "memory");
  result.work->flops = 207e9;
  EXPECT_EQ(derived(result).peak.bound, "compute");
  result.work->flops = 0;
  EXPECT_EQ(derived(result).peak.bound, "memory");
  EXPECT_FALSE(derived(result).rate.tflops.has_value());
  result.work->flops = 1e9;
  result.work->bytes = 0;
  EXPECT_EQ(derived(result).peak.bound, "compute");
  result.work = Work{};
  EXPECT_EQ(derived(result).peak.bound, "");
}

TEST(Derive, CacheResidentOnlyWhereColdWasAskedFor) {
  Result result = sample_gemm(700);
  result.peak.dtype.clear();
  result.work->flops = 0;
  result.work->bytes = 6000e9 * 0.001;
  result.measurement->samples_s = sample_times(0.001);
  EXPECT_NEAR(*derived(result).peak.memory_pct, 125, 0.5);
  EXPECT_TRUE(has_warning(derived(result), "W_CACHE_RESIDENT"));
  result.cache = "hot";
  EXPECT_FALSE(has_warning(derived(result), "W_CACHE_RESIDENT"));
}

TEST(Derive, WarningsFollowReadingsAndConditions) {
  Result result = sample_gemm(700);
  result.telemetry->throttle = {
      {"sw_power_cap", 0.96}, {"hw_thermal", 0.01}, {"hw_slowdown", 0.02}};
  result.measurement->stop = "max_time";
  result.measurement->launch_bound = true;
  result.measurement->warmup_s = 0;
  result.data_dist = "zeros";
  ReportDevice device = sample_h200();
  device.info.power_limit_w = 500;
  const Result all = derived(result, device);
  for (const char* code :
       {"W_POWER_CAP", "W_THERMAL", "W_HW_SLOWDOWN", "W_POWER_LIMIT_REDUCED", "W_NOT_CONVERGED",
        "W_LAUNCH_BOUND", "W_NO_WARMUP", "W_LOW_ENTROPY_DATA"}) {
    EXPECT_TRUE(has_warning(all, code)) << code;
  }
  EXPECT_EQ(all.warnings.size(), 8U);
  EXPECT_EQ(derived(all, device).warnings.size(), 8U) << "each code once, also when derived again";
}

TEST(Derive, EnergyIsMeanPowerTimesMeanTime) {
  Result result = sample_gemm(700);
  derive(result, sample_h200());
  EXPECT_FALSE(result.telemetry->energy_j_per_iteration.has_value());
  result.telemetry->power_by_energy_w = 650;
  derive(result, sample_h200());
  EXPECT_DOUBLE_EQ(*result.telemetry->energy_j_per_iteration, 650 * result.time_s->mean);
}

TEST(Derive, NoWarningWhereNothingIsReadable) {
  Result result = sample_gemm(700);
  result.telemetry->throttle.reset();
  EXPECT_TRUE(derived(result).warnings.empty());
  result.telemetry.reset();
  EXPECT_EQ(derived(result).warnings, std::vector<std::string>{"W_NO_NVML"});
}

TEST(Derive, WhatStopsShortOfTheNoiseTargetIsNotConverged) {
  Result result = sample_gemm(700);
  for (const char* stop : {"max_time", "max_samples", "plateau"}) {
    result.measurement->stop = stop;
    EXPECT_TRUE(has_warning(derived(result), "W_NOT_CONVERGED")) << stop;
  }
  result.measurement->stop = "noise";
  EXPECT_FALSE(has_warning(derived(result), "W_NOT_CONVERGED"));
}

TEST(Derive, WithoutUsableSamplesThereAreNoNumbers) {
  const double nan = std::nan("");
  for (const std::vector<double>& samples :
       {std::vector<double>{}, std::vector<double>{0, 0}, std::vector<double>{nan, -1}}) {
    Result result = sample_gemm(700);
    result.measurement->samples_s = samples;
    result = derived(result);
    EXPECT_FALSE(result.time_s.has_value());
    EXPECT_FALSE(result.rate.tflops || result.peak.datasheet_pct);
  }
}

TEST(Derive, ClearsNumbersOfACaseThatDidNotRun) {
  Result result = derived(sample_gemm(700));
  result.status = Status::skipped;
  result = derived(result);
  EXPECT_FALSE(result.time_s || result.rate.tflops || result.peak.datasheet_pct);
  EXPECT_EQ(result.peak.dtype, "bf16");
}

TEST(Roof, DatasheetClock) {
  EXPECT_NEAR(*datasheet_clock_mhz(sample_h200(), "bf16"), 1830, 1);
  EXPECT_FALSE(datasheet_clock_mhz(sample_cpu(), "bf16").has_value());
}

}  // namespace
}  // namespace gpubench
