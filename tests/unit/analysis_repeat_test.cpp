// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "analysis/compare.h"
#include "analysis/derive.h"
#include "analysis/repeat.h"
#include "tests/unit/report_samples.h"

namespace gpubench {
namespace {

Result run_of(double tflops) {
  Result result = sample_gemm(tflops);
  derive(result, sample_h200());
  return result;
}

TEST(Repeat, TheMiddleRunIsShown) {
  const Result combined = combine_runs({run_of(700), run_of(600), run_of(690)});
  EXPECT_NEAR(*combined.rate.tflops, 690, 0.1);
  ASSERT_TRUE(combined.repeats.has_value());
  ASSERT_EQ(combined.repeats->medians_s.size(), 3u);
  EXPECT_EQ(combined.repeats->medians_s[1], run_of(600).time_s->median)
      << "in the order of the runs";
  EXPECT_NEAR(*spread_between_runs(combined), 690 / 600.0 - 690 / 700.0, 1e-9);
  ASSERT_FALSE(combined.remarks.empty());
  EXPECT_EQ(combined.remarks.back(), "3 runs differ by 16.4 %: the middle one is shown");
}

TEST(Repeat, OfAnEvenNumberTheFasterMiddle) {
  const Result combined = combine_runs({run_of(700), run_of(650), run_of(600), run_of(690)});
  EXPECT_NEAR(*combined.rate.tflops, 690, 0.1);
}

TEST(Repeat, AlikeRunsNeedNoRemark) {
  const Result combined = combine_runs({run_of(700), run_of(700.5)});
  EXPECT_EQ(combined.remarks, run_of(700).remarks);
  EXPECT_FALSE(spread_between_runs(run_of(700)).has_value());
  EXPECT_FALSE(combine_runs({run_of(700)}).repeats.has_value());
}

TEST(Repeat, ARunThatIsNotOkIsNotHidden) {
  const Result wrong = sample_unlucky(Status::wrong, "E_WRONG_RESULT", "off");
  const Result failed = sample_unlucky(Status::failed, "E_CUDA", "gone");
  EXPECT_EQ(combine_runs({run_of(700), wrong, run_of(700)}).status, Status::wrong);
  EXPECT_EQ(combine_runs({failed, wrong}).status, Status::wrong);
  EXPECT_EQ(combine_runs({run_of(700), failed}).reason.code, "E_CUDA");
}

TEST(Repeat, ARegressionExceedsTheSpreadBetweenRuns) {
  const auto verdict = [](const Result& a, const Result& b) {
    return compare_reports(sample_report({a}), sample_report({b}), {}).rows.at(0).verdict;
  };
  EXPECT_EQ(verdict(run_of(700), run_of(670)), "slower");
  const Result wide = combine_runs({run_of(680), run_of(700), run_of(720)});
  EXPECT_EQ(verdict(wide, run_of(670)), "same") << "4 % less, but runs differ by 6 %";
  EXPECT_EQ(verdict(wide, run_of(600)), "slower");
}

}  // namespace
}  // namespace gpubench
