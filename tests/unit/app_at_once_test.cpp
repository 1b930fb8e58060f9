// SPDX-License-Identifier: Apache-2.0
// One case on several runners at a time; the host processor stands for each device.
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "app/at_once.h"
#include "app/device_bench.h"
#include "app/session.h"
#include "core/suite.h"

namespace gpubench {
namespace {

class AtOnce : public testing::Test {
 protected:
  void add_device(double max_time_s) {
    devices_.push_back(describe_cpu());
    BenchOptions options;
    options.policy = {.warmup_s = 0, .min_time_s = max_time_s, .max_time_s = max_time_s};
    benches_.emplace_back(devices_.back(), int(devices_.size()) - 1, libraries_, options,
                          environment_, progress_);
    runners_.push_back(&benches_.back().runner());
  }
  Case case_of(const std::vector<std::string>& words) {
    return plan_cases(parse_case_words(words), Conditions{}).front();
  }

  Libraries libraries_;
  Progress progress_{/*quiet=*/true, 1};
  std::map<std::string, std::string> environment_;
  std::deque<ReportDevice> devices_;
  std::deque<DeviceBench> benches_;
  std::vector<CaseRunner*> runners_;
};

TEST_F(AtOnce, EveryDeviceHasItsResult) {
  for (int i = 0; i < 3; ++i) add_device(0.1);
  const Case work = case_of({"ops/gemm", "m=32", "n=48", "k=64", "at_once=1"});
  EXPECT_NE(work.id.find("at_once=1"), std::string::npos);
  const auto results = run_at_once(runners_, work, {});
  ASSERT_EQ(results.size(), 3U);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(results[std::size_t(i)].status, Status::ok) << results[std::size_t(i)].reason.message;
    EXPECT_EQ(results[std::size_t(i)].device, i);
  }
}

TEST_F(AtOnce, SamplingOverlapsAlthoughOneTakesLonger) {
  add_device(0.05);
  add_device(0.4);
  const Case work = case_of({"ops/gemm", "m=32", "n=48", "k=64"});
  const auto results = run_at_once(runners_, work, {});
  const Measurement& fast = *results[0].measurement;
  const Measurement& slow = *results[1].measurement;
  EXPECT_LT(slow.begin_s, fast.end_s);
  EXPECT_LT(fast.begin_s, slow.end_s);
}

TEST_F(AtOnce, WhatCanNotRunLeavesNobodyWaiting) {
  add_device(0.1);
  add_device(0.1);
  for (const Result& result :
       run_at_once(runners_, case_of({"ops/gemm", "m=1M", "n=1M", "k=1M"}), {})) {
    EXPECT_EQ(result.status, Status::skipped);
  }
}

TEST_F(AtOnce, StopEndsAll) {
  add_device(50);
  add_device(50);
  std::stop_source source;
  source.request_stop();
  for (const Result& result :
       run_at_once(runners_, case_of({"ops/gemm", "m=32", "n=48", "k=64"}), source.get_token())) {
    EXPECT_EQ(result.status, Status::not_run);
    EXPECT_EQ(result.reason.code, "E_INTERRUPTED");
  }
}

}  // namespace
}  // namespace gpubench
