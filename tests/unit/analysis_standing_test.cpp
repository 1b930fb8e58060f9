// SPDX-License-Identifier: Apache-2.0
// Which of several devices is slow, against the others and against the catalogue.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analysis/derive.h"
#include "analysis/standing.h"
#include "tests/unit/report_samples.h"

namespace gpubench {
namespace {

Result on(int device, double tflops, double clock_mhz = 1830, std::int64_t size = 8192) {
  Result result = sample_gemm(tflops, clock_mhz, size);
  result.device = device;
  derive(result, sample_h200());
  return result;
}

Report node(const std::vector<Result>& results, int devices) {
  Report report = sample_report(results);
  report.devices.clear();
  for (int i = 0; i < devices; ++i) {
    report.devices.push_back(sample_h200());
    report.devices.back().info.index = i;
    report.devices.back().info.uuid = "GPU-" + std::to_string(i);
  }
  return report;
}

bool has(const std::vector<std::string>& sentences, const std::string& words) {
  for (const std::string& sentence : sentences) {
    if (sentence.find(words) != std::string::npos) return true;
  }
  return false;
}

TEST(Standing, SlowDeviceIsNamedWithWhatItsReadingsSay) {
  Report report = node({on(0, 700), on(1, 705), on(2, 560, 1410), on(3, 695),  //
                        on(0, 600, 1830, 4096), on(1, 600, 1830, 4096), on(2, 500, 1400, 4096),
                        on(3, 600, 1830, 4096)},
                       4);
  const auto all = standings(report);
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[2].slow_cases, 2);
  EXPECT_NEAR(all[2].lag, (700.0 / 560 + 600.0 / 500) / 2 - 1, 1e-6);
  EXPECT_EQ(all[0].slow_cases, 0);
  remark_slow_devices(report);
  for (const Result& result : report.results) {
    EXPECT_EQ(has_warning(result, "W_SLOW_DEVICE"), result.device == 2) << result.id;
  }
  EXPECT_TRUE(has(report.results[2].remarks, "device 2 takes 25.0 % longer than the other 3"));
  EXPECT_TRUE(has(report.results[2].remarks, "SM clock 1410 against 1830 MHz"));
  EXPECT_TRUE(has(standing_sentences(report), "slow: device 2 takes 22.5 % longer"));
  const std::size_t remarks = report.results[2].remarks.size();
  remark_slow_devices(report);
  EXPECT_EQ(report.results[2].remarks.size(), remarks) << "said twice";
}

TEST(Standing, OneSlowCaseIsNoSlowDevice) {
  Report report = node({on(0, 700), on(1, 600),  //
                        on(0, 600, 1830, 4096), on(1, 600, 1830, 4096), on(0, 500, 1830, 2048),
                        on(1, 505, 1830, 2048)},
                       2);
  EXPECT_FALSE(has(standing_sentences(report), "slow"));
  remark_slow_devices(report);
  EXPECT_TRUE(has_warning(report.results[1], "W_SLOW_DEVICE"));
  EXPECT_TRUE(has(report.results[1].remarks, "than the other one of its kind"));
}

TEST(Standing, OtherKindsAndFailedResultsAreNotCompared) {
  Report report = node({on(0, 700), on(1, 100)}, 2);
  report.devices[1].info.name = "NVIDIA A100-SXM4-80GB";
  EXPECT_TRUE(standings(report).empty());
  Report failed = node({on(0, 700), sample_unlucky(Status::failed, "E_X", "x")}, 2);
  failed.results[1].device = 1;
  failed.results[1].id = failed.results[0].id;
  EXPECT_TRUE(standings(failed).empty());
  EXPECT_TRUE(standings(node({on(0, 700)}, 1)).empty());
}

TEST(Standing, AtOnceAndAloneAreDifferentCases) {
  Report report = node({on(0, 700), on(1, 700), on(0, 400), on(1, 400)}, 2);
  for (const std::size_t i : {2U, 3U}) report.results[i].id += "&at_once=1";
  ASSERT_EQ(standings(report).size(), 2U);
  EXPECT_EQ(standings(report)[0].cases, 2);
  remark_slow_devices(report);
  for (const Result& result : report.results) EXPECT_FALSE(has_warning(result, "W_SLOW_DEVICE"));
}

TEST(BelowCatalogue, NamesWhatTheMachineLacks) {
  ReportDevice device = sample_h200();
  device.match.spec->tdp_w = 700;
  device.match.spec->max_sm_clock_mhz = 1980;
  device.match.spec->memory_clock_mhz = 3201;
  device.info.power_limit_w = 700;
  device.info.max_sm_clock_mhz = 1980;
  device.info.memory_clock_mhz = 3201;
  EXPECT_TRUE(below_catalogue(device).empty());
  device.info.power_limit_w = 500;
  device.info.memory_clock_mhz = 2619;
  EXPECT_EQ(below_catalogue(device), (std::vector<std::string>{"power limit 500 of 700 W",
                                                               "memory clock 2619 of 3201 MHz"}));
  device.info.mig = true;
  EXPECT_TRUE(below_catalogue(device).empty());
  device.info.mig = false;
  device.match.spec.reset();
  EXPECT_TRUE(below_catalogue(device).empty());
}

}  // namespace
}  // namespace gpubench
