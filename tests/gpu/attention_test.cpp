// SPDX-License-Identifier: Apache-2.0
// cuDNN's attention against the reference on a GPU, and planted faults.
#include "ops/attention/attention.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "attention_gpu.h"
#include "libs/libraries.h"

namespace gpubench {
namespace {

class CudnnAttentionTest : public AttentionGpuTest {
 protected:
  void SetUp() override {
    AttentionGpuTest::SetUp();
    if (IsSkipped()) return;
    for (const LibraryStatus& status : libraries_.statuses(true)) {
      if (status.name == "cudnn" && !status.loaded) GTEST_SKIP() << status.problem;
    }
  }

  std::unique_ptr<Job> prepare(const AttentionProblem& problem, const Conditions& conditions) {
    conditions_ = conditions;
    Context context{*device_, *stream_, libraries_, conditions_};
    return prepare_attention(context, problem, "cudnn");
  }

  Libraries libraries_;
  Conditions conditions_;
};

TEST_P(CudnnAttentionTest, MatchesTheReference) {
  const auto job = prepare(GetParam(), {.cache = CacheMode::hot});
  const Check check = job->verify(*stream_);
  EXPECT_TRUE(check.passed) << check.detail << "; error " << check.error << ", tolerance "
                            << check.tolerance;
  RecordProperty("error", std::to_string(check.error));
  EXPECT_EQ(job->info().impl, "cudnn");
  EXPECT_FALSE(job->info().algorithm.empty());
}

std::vector<AttentionProblem> cudnn_problems() {
  std::vector<AttentionProblem> problems;
  for (const bool backward : {false, true}) {
    for (const bool causal : {false, true}) {
      for (const std::int64_t seq : {1, 7, 100, 257, 1024}) {
        if (backward && seq == 1) continue;  // refused by cuDNN 9.14: see OneQueryIsRightOrRefused
        problems.push_back({.batch = 2,
                            .heads = 3,
                            .seq = seq,
                            .head_dim = 128,
                            .causal = causal,
                            .backward = backward});
      }
      for (const Dtype dtype : {Dtype::fp16, Dtype::bf16}) {
        problems.push_back({.batch = 2,
                            .heads = 2,
                            .seq = 512,
                            .head_dim = 64,
                            .dtype = dtype,
                            .causal = causal,
                            .backward = backward});
      }
    }
  }
  return problems;
}

INSTANTIATE_TEST_SUITE_P(Shapes, CudnnAttentionTest, testing::ValuesIn(cudnn_problems()),
                         name_of_case);

constexpr CausalAlign kBottomRight = CausalAlign::bottom_right;

/// What not every GPU and cuDNN takes: right, or refused with a reason that says so.
class CudnnWiderAttentionTest : public CudnnAttentionTest {};

TEST_P(CudnnWiderAttentionTest, IsRightOrRefused) {
  try {
    const auto job = prepare(GetParam(), {.cache = CacheMode::hot});
    const Check check = job->verify(*stream_);
    EXPECT_TRUE(check.passed) << check.detail << "; error " << check.error << ", tolerance "
                              << check.tolerance;
    RecordProperty("error", std::to_string(check.error));
  } catch (const Unsupported& refused) {
    // Shown as skipped, so that a run tells what this library does not take.
    GTEST_SKIP() << refused.code() << ": " << refused.what();
  }
}

std::vector<AttentionProblem> wider_problems() {
  std::vector<AttentionProblem> problems;
  for (const bool backward : {false, true}) {
    for (const bool causal : {false, true}) {
      const AttentionProblem base{.batch = 2,
                                  .heads = 8,
                                  .seq = 512,
                                  .head_dim = 128,
                                  .causal = causal,
                                  .backward = backward};
      for (const std::int64_t kv_heads : {4, 2, 1}) {
        problems.push_back(base);
        problems.back().kv_heads = kv_heads;
      }
      for (const std::int64_t head_dim : {32, 40, 72, 80, 96, 104, 160, 192, 248, 256}) {
        problems.push_back(base);
        problems.back().head_dim = head_dim;
      }
      for (const std::int64_t seq_kv : {1024, 1000, 257, 301}) {
        problems.push_back(base);
        problems.back().seq_kv = seq_kv;
      }
      problems.push_back(base);  // a step of decoding
      problems.back().seq = 1;
      problems.back().seq_kv = 4096;
      problems.back().kv_heads = 2;
    }
    const AttentionProblem base{.batch = 2,
                                .heads = 4,
                                .seq = 512,
                                .head_dim = 64,
                                .causal = true,
                                .backward = backward,
                                .kv_heads = 2};
    for (const std::int64_t seq_kv : {512, 513, 1024, 1100}) {
      for (const std::int64_t window : {0, 1, 128, 200}) {
        for (const CausalAlign align : {CausalAlign::top_left, kBottomRight}) {
          AttentionProblem problem = base;
          problem.seq_kv = seq_kv;
          problem.window = window;
          problem.align = align;
          problems.push_back(problem);
        }
      }
    }
    problems.push_back({.batch = 1,
                        .heads = 2,
                        .seq = 2100,
                        .head_dim = 128,
                        .causal = true,
                        .backward = backward,
                        .window = 1000});
    problems.push_back({.batch = 2,
                        .heads = 8,
                        .seq = 1,
                        .head_dim = 128,
                        .causal = true,
                        .backward = backward,
                        .seq_kv = 2048,
                        .align = kBottomRight});
  }
  for (const bool causal : {false, true}) {
    for (const std::int64_t head_dim : {64, 128, 256, 48}) {
      for (const std::int64_t seq : {512, 2048, 300, 1}) {
        problems.push_back({.batch = 2,
                            .heads = 4,
                            .seq = seq,
                            .head_dim = head_dim,
                            .dtype = Dtype::fp8_e4m3,
                            .causal = causal});
      }
    }
    problems.push_back({.batch = 2,
                        .heads = 8,
                        .seq = 512,
                        .head_dim = 128,
                        .dtype = Dtype::fp8_e4m3,
                        .causal = causal,
                        .kv_heads = 2});
    problems.push_back({.batch = 2,
                        .heads = 4,
                        .seq = 512,
                        .head_dim = 128,
                        .dtype = Dtype::fp8_e4m3,
                        .causal = causal,
                        .seq_kv = 1024});
  }
  return problems;
}

INSTANTIATE_TEST_SUITE_P(Shapes, CudnnWiderAttentionTest, testing::ValuesIn(wider_problems()),
                         name_of_case);

/// These sizes every supported GPU with cuDNN 9.6 or newer takes (FP8: Hopper): a refusal is a
/// fault.
using CudnnCommonAttentionTest = CudnnAttentionTest;

bool is_taken(const AttentionProblem& problem, const DeviceInfo& device) {
  return problem.dtype != Dtype::fp8_e4m3 || device.cc_major == 9;
}

TEST_P(CudnnCommonAttentionTest, IsTakenAndRight) {
  if (!is_taken(GetParam(), device_->info())) GTEST_SKIP() << "fp8: not Hopper";
  const auto job = prepare(GetParam(), {.cache = CacheMode::cold});
  const Check check = job->verify(*stream_);
  EXPECT_TRUE(check.passed) << check.detail;
  RecordProperty("error", std::to_string(check.error));
  if (GetParam().dtype == Dtype::fp8_e4m3) {
    EXPECT_GT(check.error, 0.01) << "FP8's rounding has to show: was something else computed?";
  }
}

TEST_P(CudnnCommonAttentionTest, PlantedFaultsAreFound) {
  if (!is_taken(GetParam(), device_->info())) GTEST_SKIP() << "fp8: not Hopper";
  for (const Fault fault :
       {Fault::wrong_element, Fault::unwritten_tile, Fault::swapped_operands, Fault::nan}) {
    const auto job = prepare(GetParam(), {.cache = CacheMode::hot, .fault = fault});
    EXPECT_FALSE(job->verify(*stream_).passed) << "fault " << static_cast<int>(fault);
  }
}

std::vector<AttentionProblem> common_problems() {
  std::vector<AttentionProblem> problems;
  for (const bool backward : {false, true}) {
    const AttentionProblem base{
        .batch = 2, .heads = 8, .seq = 512, .head_dim = 128, .causal = true, .backward = backward};
    problems.insert(problems.end(), 4, base);
    AttentionProblem* added = &problems[problems.size() - 4];
    added[0].kv_heads = 2;
    added[1].head_dim = 96;
    added[2].window = 128;
    added[3].seq_kv = 1024;
    added[3].align = kBottomRight;
  }
  for (const bool causal : {false, true}) {
    problems.push_back({.batch = 2,
                        .heads = 8,
                        .seq = 1024,
                        .head_dim = 128,
                        .dtype = Dtype::fp8_e4m3,
                        .causal = causal});
  }
  return problems;
}

INSTANTIATE_TEST_SUITE_P(Shapes, CudnnCommonAttentionTest, testing::ValuesIn(common_problems()),
                         name_of_case);

using CudnnAttentionOnceTest = CudnnAttentionTest;

AttentionProblem small_problem(bool causal, bool backward) {
  return {
      .batch = 2, .heads = 2, .seq = 256, .head_dim = 64, .causal = causal, .backward = backward};
}

TEST_P(CudnnAttentionOnceTest, PlantedFaultsAreFound) {
  for (const Fault fault :
       {Fault::wrong_element, Fault::unwritten_tile, Fault::swapped_operands, Fault::nan}) {
    const auto job = prepare(GetParam(), {.cache = CacheMode::hot, .fault = fault});
    EXPECT_FALSE(job->verify(*stream_).passed) << "fault " << static_cast<int>(fault);
  }
}

TEST_P(CudnnAttentionOnceTest, EverySetIsRightAndStaysSoAfterAGraph) {
  const auto job = prepare(GetParam(), {.cache = CacheMode::cold});
  ASSERT_GE(job->sets(), 2u);
  const Check before = job->verify(*stream_);
  EXPECT_TRUE(before.passed) << before.detail;
  const auto graph = device_->capture(*stream_, [&] {
    for (std::size_t i = 0; i < 3; ++i) job->enqueue(*stream_, i);
  });
  ASSERT_NE(graph, nullptr);
  graph->launch(*stream_);
  graph->launch(*stream_);
  stream_->synchronize();
  const Check after = job->verify(*stream_);
  EXPECT_TRUE(after.passed) << after.detail;
}

TEST_P(CudnnAttentionOnceTest, OneQueryIsRightOrRefused) {
  AttentionProblem problem = GetParam();
  problem.seq = 1;
  try {
    const Check check = prepare(problem, {.cache = CacheMode::hot})->verify(*stream_);
    EXPECT_TRUE(check.passed) << check.detail;
  } catch (const Unsupported& refused) {
    EXPECT_EQ(refused.code(), "E_UNSUPPORTED_SHAPE");
    EXPECT_NE(std::string(refused.what()).find("cuDNN"), std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(Passes, CudnnAttentionOnceTest,
                         testing::Values(small_problem(false, false), small_problem(true, false),
                                         small_problem(false, true), small_problem(true, true)),
                         name_of_case);

}  // namespace
}  // namespace gpubench
