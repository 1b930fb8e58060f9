// SPDX-License-Identifier: Apache-2.0
// What is said of a number, and when nothing is.
#include <gtest/gtest.h>

#include "analysis/derive.h"
#include "analysis/remarks.h"
#include "tests/unit/report_samples.h"

namespace gpubench {
namespace {

std::vector<std::string> said(Result result, const ReportDevice& device = sample_h200()) {
  derive(result, device);
  return remarks(result, device);
}

/// Whether one of the sentences holds the words.
bool says(const std::vector<std::string>& sentences, const std::string& words) {
  for (const std::string& sentence : sentences) {
    if (sentence.find(words) != std::string::npos) return true;
  }
  return false;
}

TEST(Remarks, NothingToSayOfAGoodNumber) {
  EXPECT_TRUE(said(sample_gemm(700)).empty());
  EXPECT_TRUE(said(sample_unlucky(Status::skipped, "E_X", "x")).empty());
}

TEST(Remarks, AWorldOfOneUsesNoLink) {
  Result result = sample_gemm(700);
  result.warnings = {"W_WORLD_OF_ONE"};
  EXPECT_TRUE(says(said(result), "no link is used and there is no bus bandwidth"));
}

TEST(Remarks, PowerCapWithItsReadings) {
  Result result = sample_gemm(700, 1440);
  result.telemetry->throttle = {{"sw_power_cap", 0.96}};
  EXPECT_EQ(said(result),
            std::vector<std::string>{
                "power-capped: at the 700 W limit in 96 % of readings, which lowers the SM clock"});
}

TEST(Remarks, FlopPerClockOfMicroClockAndOfUnknownDevices) {
  Result result = sample_gemm(700, 1440);
  result.workload = "micro/clock";
  result.peak.clock_mhz = 1500;
  result.peak.clock_source = "cycles";
  // 700e12 / (132 x 1500e6) = 3535.4; the samples' median is a little off.
  EXPECT_TRUE(says(said(result), "353"));
  EXPECT_TRUE(says(said(result), " FLOP per clock and SM at 1500 MHz"));
  result.workload = "ops/gemm";
  EXPECT_FALSE(says(said(result), "FLOP per clock"));
  ReportDevice unknown = sample_h200();
  unknown.match = {};
  EXPECT_TRUE(says(said(result, unknown), "FLOP per clock"));
  result.peak = {};
  EXPECT_FALSE(says(said(result, unknown), "FLOP per clock"));
}

TEST(Remarks, ALowClockIsTheDriversNotWhatTensorCoresLeaveOfIt) {
  Result result = sample_gemm(300, 1980);
  result.peak.clock_mhz = 1700;
  result.peak.clock_source = "cycles";
  EXPECT_FALSE(says(said(result), "are the clocks locked"));
  EXPECT_TRUE(says(said(sample_gemm(300, 1200)), "are the clocks locked"));
}

TEST(Remarks, ASlowTransferAndItsLink) {
  ReportDevice device = sample_h200();
  device.match.spec->pcie_gb_per_s = 63;
  device.info.pcie_width = 4;
  device.info.pcie_max_width = 16;
  Result result = sample_gemm(700);
  result.work = Work{};
  result.work->bytes = 10e9 * result.measurement->samples_s.front();
  result.work->bytes_over = "pcie";
  result.peak.dtype.clear();
  result.warnings = {"W_NUMA_ELSEWHERE"};
  const auto sentences = said(result, device);
  EXPECT_TRUE(says(sentences, "16 % of the link's peak"));
  EXPECT_TRUE(says(sentences, "4 of 16 lanes"));
  EXPECT_TRUE(says(sentences, "not on the NUMA node"));
  device.info.pcie_width = 16;
  device.info.pcie_max_gen = 5;
  result.telemetry.emplace();
  result.telemetry->pcie_gen = 3;
  EXPECT_TRUE(says(said(result, device), "generation 3 of 5 under load"));
}

TEST(Remarks, MemoryBoundAtThisSize) {
  Result result = sample_gemm(100);
  result.work->flops = 1e9;
  result.work->bytes = 39e9;
  result.measurement->samples_s = sample_times(0.01, 0.001);
  EXPECT_EQ(said(result),
            std::vector<std::string>{"memory-bound at this size: 3900 GB/s is 81 % of "
                                     "the memory's peak"});
}

TEST(Remarks, FaultsComeFirstAndSayNotToUseTheNumber) {
  Result result = sample_gemm(1100, 1830);
  result.telemetry->throttle = {{"sw_power_cap", 0.5}};
  const auto sentences = said(result);
  EXPECT_NE(sentences.at(0).find("a fault of the measurement"), std::string::npos);
  EXPECT_TRUE(says(sentences, "above the datasheet's 989.4 TFLOP/s, which stands for 1830 MHz"));
}

TEST(Remarks, Int8IsCountedInOperations) {
  ReportDevice device = sample_h200();
  device.match.spec->dense_tflops["int8"] = 1000;
  Result result = sample_gemm(1100, 1980);
  result.peak.dtype = "int8";
  EXPECT_TRUE(says(said(result, device), "above the datasheet's 1000.0 TOP/s"));
}

TEST(Remarks, ErrorsAndNeighboursOfTheCard) {
  Result result = sample_gemm(700);
  result.telemetry->errors = {{"ecc_corrected", 0}, {"pcie_replays", 0}, {"remapped_rows", 0}};
  EXPECT_TRUE(said(result).empty());
  result.telemetry->errors = {{"ecc_corrected", 2}, {"ecc_uncorrected", 1}, {"pcie_replays", 9}};
  EXPECT_TRUE(
      says(said(result), "3 memory errors were counted while this was measured, 1 of them"));
  EXPECT_TRUE(says(said(result), "the PCIe link repeated 9 packets"));
  ReportDevice busy = sample_h200();
  busy.info.other_processes = 2;
  Result shared = sample_gemm(700);
  derive(shared, busy);
  EXPECT_TRUE(says(remarks(shared, busy), "2 other processes were on this GPU"));
}

TEST(Remarks, TooSmallToFillTheGpu) {
  const auto sentences = said(sample_gemm(5, 1980, 256));  // 6.7 us
  EXPECT_TRUE(says(sentences, "too small to fill the GPU"));
  EXPECT_EQ(sentences.size(), 1U);
}

TEST(Remarks, SlowAlthoughMemoryBinds) {
  Result result = sample_gemm(100);
  result.work->flops = 1e9;
  result.work->bytes = 24e9;
  result.measurement->samples_s = sample_times(0.01, 0.001);
  EXPECT_EQ(said(result),
            std::vector<std::string>{"50 % of the memory's peak although memory binds: the "
                                     "implementation (cublaslt) is what limits here"});
}

TEST(Remarks, ImplementationIsNamedWhereClockAndPowerAreNotTheReason) {
  EXPECT_TRUE(says(said(sample_gemm(300, 1980)), "the implementation (cublaslt) limits"));
  Result capped = sample_gemm(580, 1200);  // 58 % of the datasheet, 89 % at this clock
  capped.telemetry->throttle = {{"sw_power_cap", 1}};
  EXPECT_FALSE(says(said(capped), "implementation"));
}

TEST(Remarks, LowClockWithoutAReasonInTheReadings) {
  EXPECT_TRUE(says(said(sample_gemm(500, 1200)), "SM clock only 1200 of 1980 MHz"));
}

TEST(Remarks, ReducedLimitNamesBoth) {
  ReportDevice device = sample_h200();
  device.info.power_limit_w = 500;
  EXPECT_TRUE(says(said(sample_gemm(700), device), "set to 500 W, 71 % of the default 700 W"));
}

TEST(Remarks, ConditionsAndNoise) {
  Result result = sample_gemm(700);
  result.measurement->samples_s = sample_times(0.001, 0.2, 12);
  result.measurement->stop = "max_time";
  result.measurement->warmup_s = 0;
  result.data_dist = "ones";
  const auto sentences = said(result);
  EXPECT_TRUE(says(sentences, "not converged after 12 samples, the median is known to ±"));
  EXPECT_TRUE(says(sentences, "the data are all ones"));
  EXPECT_TRUE(says(sentences, "no warm-up"));
}

TEST(Remarks, InTurnTheRatioIsWhatDidNotConverge) {
  Result result = sample_gemm(700);
  result.measurement->block_s = 1.3;
  for (const auto& [stop, words] :
       {std::pair{"max_time", "too few turns"}, std::pair{"plateau", "more turns don't narrow"}}) {
    result.measurement->stop = stop;
    const auto sentences = said(result);
    EXPECT_TRUE(says(sentences, words)) << stop;
    EXPECT_FALSE(says(sentences, "the median is known")) << stop;
  }
}

TEST(Remarks, WhatIsMissingIsSaid) {
  ReportDevice device = sample_h200();
  device.match = {std::nullopt, "none: NVIDIA H300"};
  Result result = sample_gemm(700);
  result.telemetry.reset();
  const auto sentences = said(result, device);
  EXPECT_TRUE(says(sentences, "not in the catalogue (none: NVIDIA H300)"));
  EXPECT_TRUE(says(sentences, "NVML could not be used"));
}

TEST(Remarks, EmulationIsSaid) {
  Result result = sample_gemm(0.1);
  result.emulated = true;
  result.telemetry.reset();
  EXPECT_TRUE(says(said(result, sample_cpu()), "emulated: operands rounded"));
}

}  // namespace
}  // namespace gpubench
