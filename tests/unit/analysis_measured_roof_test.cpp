// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "analysis/derive.h"
#include "analysis/measured_roof.h"
#include "tests/unit/report_samples.h"

namespace gpubench {
namespace {

Result gemm(double tflops, const char* bound = "compute") {
  Result result = sample_gemm(tflops);
  derive(result, sample_h200());
  result.cache = "cold";
  result.peak.bound = bound;
  return result;
}

Result copy(double gb_per_s) {
  Result result = gemm(700, "memory");
  result.workload = "micro/memory";
  result.params = {{"kernel", "copy"}};
  result.peak.dtype.clear();
  result.rate = {};
  result.rate.gb_per_s = gb_per_s;
  return result;
}

std::vector<std::optional<double>> shares(std::vector<Result> results) {
  fill_measured_roofs(results);
  std::vector<std::optional<double>> found;
  for (const Result& result : results) found.push_back(result.peak.of_measured_roof_pct);
  return found;
}

TEST(MeasuredRoof, TheFastestOfTheSameTypeIsTheRoof) {
  const auto found = shares({gemm(600), gemm(300), copy(4000)});
  EXPECT_NEAR(*found[0], 100, 1e-6);
  EXPECT_NEAR(*found[1], 50, 0.01);
  EXPECT_NEAR(*found[2], 100, 1e-6);
  Result other_type = gemm(300);
  other_type.peak.dtype = "fp8";
  EXPECT_NEAR(*shares({gemm(600), other_type})[1], 100, 1e-6) << "its own roof";
}

TEST(MeasuredRoof, WhereMemoryBindsTheCopyIsTheRoof) {
  Result bound = gemm(100, "memory");
  bound.rate.gb_per_s = 3000;
  EXPECT_NEAR(*shares({gemm(600), copy(4000), bound})[2], 75, 1e-6);
  EXPECT_FALSE(shares({gemm(600), bound})[1].has_value()) << "no copy was measured";
}

TEST(MeasuredRoof, WhatDoesNotCrossTheMemoryHasNoShareOfTheCopy) {
  Result transfer = copy(50);
  transfer.workload = "micro/transfer";
  transfer.work = Work{};
  transfer.work->bytes = 1e9;
  transfer.work->bytes_over = "pcie";
  transfer.peak.bound = "link";
  EXPECT_FALSE(shares({copy(4000), transfer})[1].has_value());
  transfer.work->bytes_over = "l2";
  transfer.peak.bound.clear();
  EXPECT_FALSE(shares({copy(4000), transfer})[1].has_value());
}

TEST(MeasuredRoof, AnUnknownDeviceHasItToo) {
  Result unknown = gemm(150, "");
  unknown.rate.gb_per_s = 3000;
  EXPECT_NEAR(*shares({gemm(600, ""), copy(4000), unknown})[2], 75, 1e-6) << "memory takes longer";
  EXPECT_FALSE(shares({gemm(600, ""), unknown})[1].has_value()) << "which roof binds is not known";
}

TEST(MeasuredRoof, WhatIsUnsoundIsNoRoof) {
  Result fault = gemm(2000);
  ASSERT_TRUE(has_warning(fault, "W_ABOVE_CLOCK_PEAK"));
  Result hot = gemm(900);
  hot.cache = "hot";
  Result emulated = gemm(900);
  emulated.emulated = true;
  Result elsewhere = gemm(900);
  elsewhere.device = 1;
  const auto found = shares({gemm(600), fault, hot, emulated, elsewhere});
  EXPECT_NEAR(*found[0], 100, 1e-6);
  EXPECT_GT(*found[2], 149);
  EXPECT_FALSE(found[3].has_value());
  EXPECT_NEAR(*found[4], 100, 1e-6);
}

}  // namespace
}  // namespace gpubench
