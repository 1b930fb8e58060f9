// SPDX-License-Identifier: Apache-2.0
// Ratios of sides that took turns.
#include "core/paired.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace gpubench {
namespace {

TEST(TurnRatios, DriftThatBothShareFallsOut) {
  std::vector<double> a, b;
  double pace = 1;
  for (int i = 0; i < 20; ++i) {
    a.push_back(pace);
    b.push_back(1.02 * (pace + 0.005));  // half a turn later
    pace += 0.01;
  }
  a.push_back(pace);
  const auto ratio = paired_ratio(turn_ratios(a, b));
  ASSERT_TRUE(ratio && ratio->ci95);
  EXPECT_NEAR(ratio->ratio, 1.02, 1e-12);
  EXPECT_NEAR(ratio->ci95->low, 1.02, 1e-12);
  EXPECT_EQ(paired_verdict(*ratio), "faster");
}

TEST(TurnRatios, NeedATurnOfAOnEachSide) {
  EXPECT_TRUE(turn_ratios(std::vector<double>{1}, std::vector<double>{1}).empty());
  EXPECT_EQ(turn_ratios(std::vector<double>{1, 1}, std::vector<double>{2, 2}).size(), 1U);
  EXPECT_FALSE(paired_ratio({}).has_value());
}

TEST(TurnRatios, UnusableTurnsLeaveOutWhatTheyEnter) {
  const double nan = std::nan("");
  const auto ratios = turn_ratios(std::vector<double>{1, nan, 1, 1}, std::vector<double>{2, 2, 2});
  EXPECT_EQ(ratios, std::vector<double>{2});
  EXPECT_TRUE(turn_ratios(std::vector<double>{1, 1}, std::vector<double>{0}).empty());
  EXPECT_TRUE(turn_ratios(std::vector<double>{1, 1},
                          std::vector<double>{std::numeric_limits<double>::infinity()})
                  .empty());
}

TEST(PairedVerdict, NeedsMoreThanWhatBuffersDo) {
  EXPECT_EQ(paired_verdict({1.002, Interval{1.001, 1.003}}), "same");
  EXPECT_EQ(paired_verdict({1.01, Interval{0.99, 1.03}}), "same");
  EXPECT_EQ(paired_verdict({1.01, Interval{1.005, 1.015}}), "faster");
  EXPECT_EQ(paired_verdict({0.98, Interval{0.975, 0.985}}), "slower");
  EXPECT_EQ(paired_verdict({2, std::nullopt}), "unclear");
}

SamplingPolicy policy() {
  SamplingPolicy policy;
  policy.min_time_s = 0.5;
  policy.max_time_s = 10;
  policy.max_noise = 0.01;
  return policy;
}

TEST(PairedRule, StopsWhenEveryPairIsKnown) {
  PairedRule rule(policy(), 3);
  std::string reason;
  int turns = 0;
  for (; reason.empty() && turns < 1000; ++turns) {
    const double wobble = turns % 2 == 0 ? 0.02 : -0.02;
    reason = rule.add(std::vector<double>{1.1, 1.5 + wobble}, 0.15 * (turns + 1));
  }
  EXPECT_EQ(reason, "noise");
  EXPECT_GE(0.15 * turns, 1.5);  // min_time_s of three sides
  EXPECT_LE(rule.noise(), 0.01);
}

TEST(PairedRule, OnePairThatIsNeverKnownEndsByTime) {
  PairedRule rule(policy(), 3);
  std::string reason;
  double elapsed_s = 0;
  for (int i = 0; reason.empty() && i < 10000; ++i) {
    elapsed_s += 0.15;
    const double wild = 1 + 0.5 * std::sin(i * i);
    reason = rule.add(std::vector<double>{1.1, wild}, elapsed_s);
  }
  EXPECT_TRUE(reason == "plateau" || reason == "max_time") << reason;
  EXPECT_LE(elapsed_s, 30.2);
}

}  // namespace
}  // namespace gpubench
