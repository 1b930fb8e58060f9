// SPDX-License-Identifier: Apache-2.0
// The cpu provider through the whole job: right results pass at odd sizes, planted faults are
// found.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "device/devices.h"
#include "libs/libraries.h"
#include "ops/attention/attention.h"
#include "ops/attention/reference.h"
#if GPUBENCH_HAS_CUDNN
#include "ops/attention/cudnn/sdpa.h"
#endif

namespace gpubench {
namespace {

class AttentionCpuTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const LibraryStatus& status : libraries_.statuses(true)) {
      if (status.name == "cblas" && !status.loaded) GTEST_SKIP() << status.problem;
    }
  }

  std::unique_ptr<Job> prepare(const AttentionProblem& problem, const Conditions& conditions) {
    conditions_ = conditions;
    Context context{*device_, *stream_, libraries_, conditions_};
    return prepare_attention(context, problem, "auto");
  }

  Check verify(const AttentionProblem& problem, Conditions conditions = {}) {
    conditions.cache = CacheMode::hot;  // one set: small problems would rotate through 1024
    return prepare(problem, conditions)->verify(*stream_);
  }

  std::unique_ptr<Device> device_ = make_cpu_device();
  std::unique_ptr<Stream> stream_ = device_->make_stream();
  Libraries libraries_;
  Conditions conditions_;
};

std::string describe(const AttentionProblem& problem) {
  return "heads " + std::to_string(problem.heads) + "/" + std::to_string(problem.key_heads()) +
         " seq " + std::to_string(problem.seq) + "/" + std::to_string(problem.keys()) +
         " head_dim " + std::to_string(problem.head_dim) + (problem.causal ? " causal" : "") +
         (problem.align == CausalAlign::bottom_right ? " bottom right" : "") + " window " +
         std::to_string(problem.window) + (problem.backward ? " backward" : "");
}

TEST_F(AttentionCpuTest, MatchesTheReferenceAtOddSizes) {
  for (const std::int64_t seq : {1, 7, 65, 130, 257}) {
    for (const bool causal : {false, true}) {
      for (const bool backward : {false, true}) {
        AttentionProblem problem{.batch = 2,
                                 .heads = 3,
                                 .seq = seq,
                                 .head_dim = 64,
                                 .causal = causal,
                                 .backward = backward};
        const Check check = verify(problem);
        EXPECT_TRUE(check.passed) << describe(problem) << ": " << check.detail;
        // FP32 on both sides of the softmax: far below what the types are allowed.
        EXPECT_LT(check.error, 1e-3) << describe(problem);
        problem.head_dim = 128;
        problem.batch = 1;
        problem.heads = 1;  // fewer heads than threads: the library's own threads
        problem.dtype = Dtype::fp16;
        const Check other = verify(problem);
        EXPECT_TRUE(other.passed) << describe(problem) << ": " << other.detail;
      }
    }
  }
}

/// One of everything that differs from plain self-attention, and some of it together.
std::vector<AttentionProblem> wider_problems() {
  const AttentionProblem causal{.batch = 2, .heads = 4, .seq = 150, .head_dim = 40, .causal = true};
  std::vector<AttentionProblem> problems(10, causal);
  problems[0].kv_heads = 2;
  problems[1].kv_heads = 1;
  problems[1].causal = false;
  problems[2].seq_kv = 333;  // sees the first 150 only
  problems[3].seq_kv = 333;
  problems[3].align = CausalAlign::bottom_right;
  problems[4].window = 17;
  problems[4].head_dim = 256;
  problems[5] = {.batch = 3, .heads = 8, .seq = 1, .head_dim = 64, .kv_heads = 2, .seq_kv = 301};
  problems[6].seq_kv = 70;
  problems[6].head_dim = 5;
  problems[7] = {.batch = 1,
                 .heads = 6,
                 .seq = 131,
                 .head_dim = 96,
                 .causal = true,
                 .kv_heads = 3,
                 .seq_kv = 270,
                 .align = CausalAlign::bottom_right,
                 .window = 100};
  problems[8].window = 1;    // P is 1, dQ and dK are zero
  problems[8].kv_heads = 2;  // else Q and K could change places: query i only meets key i
  problems[9] = problems[5];
  problems[9].causal = true;  // sees key 0 only
  return problems;
}

TEST_F(AttentionCpuTest, SharedKeysOtherLengthsAndWindowsMatchTheReference) {
  for (AttentionProblem problem : wider_problems()) {
    for (const bool backward : {false, true}) {
      problem.backward = backward;
      const Check check = verify(problem);
      EXPECT_TRUE(check.passed) << describe(problem) << ": " << check.detail;
      EXPECT_LT(check.error, 1e-3) << describe(problem);
    }
  }
}

TEST_F(AttentionCpuTest, FaultsAreFoundInThoseToo) {
  for (const Fault fault :
       {Fault::wrong_element, Fault::unwritten_tile, Fault::swapped_operands, Fault::nan}) {
    for (AttentionProblem problem : wider_problems()) {
      for (const bool backward : {false, true}) {
        problem.backward = backward;
        EXPECT_FALSE(verify(problem, Conditions{.fault = fault}).passed)
            << "fault " << static_cast<int>(fault) << ", " << describe(problem);
      }
    }
  }
}

/// A mask or a sharing that is off by one must not pass as the one asked for.
TEST_F(AttentionCpuTest, TheNeighbouringProblemIsAnotherOne) {
  const AttentionProblem asked{.batch = 1,
                               .heads = 4,
                               .seq = 40,
                               .head_dim = 16,
                               .causal = true,
                               .kv_heads = 2,
                               .seq_kv = 60,
                               .align = CausalAlign::bottom_right,
                               .window = 20};
  std::vector<AttentionProblem> others(3, asked);
  others[0].window = 21;
  others[1].align = CausalAlign::top_left;
  others[2].window = 0;
  const Conditions conditions{.cache = CacheMode::hot};
  const std::vector<Operand> operands = attention_operands(asked);
  Context context{*device_, *stream_, libraries_, conditions};
  const OperandSets sets(context, operands);
  for (const AttentionProblem& other : others) {
    const auto plan =
        select(attention_providers(), device_->info(), other, "cpu").plan(context, other);
    const Buffer workspace(*device_, plan->workspace_bytes());
    plan->run(*stream_, sets.set(0), workspace.data());
    std::vector<float> o(operands[attention_forward::kO].count);
    std::vector<float> lse(operands[attention_forward::kLse].count);
    float* const references[] = {o.data(), lse.data()};
    make_attention_reference(*device_, asked)->outputs(*stream_, sets.set(0), references);
    for (const std::size_t index : {attention_forward::kO, attention_forward::kLse}) {
      EXPECT_FALSE(compare_with_reference(*device_, *stream_, sets.set(0)[index], operands[index],
                                          references[index - attention_forward::kO])
                       .passed)
          << describe(other) << ", " << operands[index].name;
    }
  }
}

TEST_F(AttentionCpuTest, Fp8IsRightAndItsFaultsAreFound) {
  AttentionProblem problem{.batch = 2,
                           .heads = 4,
                           .seq = 65,
                           .head_dim = 48,
                           .dtype = Dtype::fp8_e4m3,
                           .causal = true,
                           .kv_heads = 2};
  for (const DataDist data : {DataDist::normal, DataDist::uniform, DataDist::ones}) {
    const Check check = verify(problem, Conditions{.data = data});
    EXPECT_TRUE(check.passed) << check.detail;
    EXPECT_LT(check.error, 1e-3);
  }
  for (const Fault fault :
       {Fault::wrong_element, Fault::unwritten_tile, Fault::swapped_operands, Fault::nan}) {
    EXPECT_FALSE(verify(problem, Conditions{.fault = fault}).passed) << static_cast<int>(fault);
  }
  problem.backward = true;
  EXPECT_THROW(verify(problem), Unsupported);
}

TEST_F(AttentionCpuTest, DataWithoutVarianceIsNoFalseAlarm) {
  for (const DataDist data : {DataDist::zeros, DataDist::ones, DataDist::uniform}) {
    for (const bool backward : {false, true}) {
      const Check check = verify({.batch = 1, .heads = 2, .seq = 65, .backward = backward},
                                 Conditions{.data = data});
      EXPECT_TRUE(check.passed) << check.detail;
    }
  }
}

TEST_F(AttentionCpuTest, PlantedFaultsAreFound) {
  for (const Fault fault :
       {Fault::wrong_element, Fault::unwritten_tile, Fault::swapped_operands, Fault::nan}) {
    for (const bool causal : {false, true}) {
      for (const bool backward : {false, true}) {
        const Check check =
            verify({.batch = 1, .heads = 2, .seq = 65, .causal = causal, .backward = backward},
                   Conditions{.fault = fault});
        EXPECT_FALSE(check.passed) << "fault " << static_cast<int>(fault)
                                   << (causal ? " causal" : "") << (backward ? " backward" : "");
      }
    }
  }
}

TEST_F(AttentionCpuTest, EverySetOfARotationIsRight) {
  for (const bool backward : {false, true}) {
    const auto job = prepare({.batch = 2, .heads = 4, .seq = 256, .backward = backward},
                             {.cache = CacheMode::cold});
    ASSERT_GE(job->sets(), 2u);
    const Check check = job->verify(*stream_);
    EXPECT_TRUE(check.passed) << check.detail;
  }
}

TEST_F(AttentionCpuTest, AnErrorInASmallRowIsFound) {
  constexpr std::size_t kRow = 8;
  std::vector<float> reference(4 * kRow, 1.f);
  for (std::size_t i = kRow; i < 2 * kRow; ++i) reference[i] = 0.05f;
  std::vector<float> out = reference;
  out[kRow + 1] = 0.06f;
  Operand operand{.name = "o", .role = Role::output, .count = out.size(), .tolerance = 0.05};
  const auto passes = [&] {
    return compare_with_reference(*device_, *stream_, out.data(), operand, reference.data()).passed;
  };
  EXPECT_TRUE(passes());  // 0.01 against the rms of the whole, 0.87
  operand.row = kRow;
  EXPECT_FALSE(passes());  // against the row's, 0.05
  operand.least_rms = 0.5;
  EXPECT_TRUE(passes());
}

TEST_F(AttentionCpuTest, ReportsWhatItIs) {
  const AttentionProblem problem{.batch = 2, .heads = 4, .seq = 16, .causal = true};
  const auto job = prepare(problem, {.cache = CacheMode::hot});
  EXPECT_EQ(job->info().impl, "cpu");
  EXPECT_TRUE(job->info().emulated);
  EXPECT_TRUE(job->info().peak_dtype.empty());
  EXPECT_EQ(job->work().flop_rule, "attention:causal");
  EXPECT_GE(job->info().workspace_bytes, 16u * 16u * sizeof(float));
}

TEST(AttentionProblem, OperandsInTheirOrder) {
  const auto names = [](const AttentionProblem& problem) {
    std::string text;
    for (const Operand& operand : attention_operands(problem)) text += operand.name + " ";
    return text;
  };
  EXPECT_EQ(names({}), "q k v o lse ");
  EXPECT_EQ(names({.backward = true}), "q k v o do lse dq dk dv ");
}

TEST(AttentionProblem, BadSizesAreRefused) {
  EXPECT_THROW(attention_operands({.seq = 0}), ConfigError);
  EXPECT_THROW(attention_operands({.batch = std::int64_t{1} << 40, .seq = std::int64_t{1} << 40}),
               ConfigError);
  EXPECT_THROW(attention_operands({.seq_kv = -1}), ConfigError);
  EXPECT_THROW(attention_operands({.heads = 6, .kv_heads = 4}), ConfigError);
  EXPECT_THROW(attention_operands({.heads = 2, .kv_heads = 4}), ConfigError);
}

TEST(AttentionProblem, MasksThatLeaveAQueryWithoutKeysAreRefused) {
  AttentionProblem problem{.seq = 8, .causal = true, .seq_kv = 5};
  EXPECT_NO_THROW(attention_operands(problem));
  problem.window = 4;  // query 7 sees keys 4 to 7
  EXPECT_NO_THROW(attention_operands(problem));
  problem.window = 3;
  EXPECT_THROW(attention_operands(problem), ConfigError);
  problem.window = 0;
  problem.align = CausalAlign::bottom_right;  // query 0 would see keys up to -3
  EXPECT_THROW(attention_operands(problem), ConfigError);
  problem.seq_kv = 9;
  EXPECT_NO_THROW(attention_operands(problem));
  problem.causal = false;
  EXPECT_THROW(attention_operands(problem), ConfigError);
  EXPECT_THROW(attention_operands({.seq = 8, .window = 3}), ConfigError);
  EXPECT_THROW(attention_operands({.seq = 8, .causal = true, .window = -1}), ConfigError);
}

TEST(AttentionProblem, KeysHaveTheirOwnSize) {
  const AttentionProblem problem{.batch = 2,
                                 .heads = 6,
                                 .seq = 5,
                                 .head_dim = 8,
                                 .backward = true,
                                 .kv_heads = 3,
                                 .seq_kv = 7};
  const std::vector<Operand> operands = attention_operands(problem);
  const std::size_t query_side = 2 * 6 * 5 * 8, key_side = 2 * 3 * 7 * 8;
  namespace at = attention_backward;
  for (const std::size_t index : {at::kQ, at::kO, at::kDO, at::kDQ}) {
    EXPECT_EQ(operands[index].count, query_side) << operands[index].name;
  }
  for (const std::size_t index : {at::kK, at::kV, at::kDK, at::kDV}) {
    EXPECT_EQ(operands[index].count, key_side) << operands[index].name;
  }
  EXPECT_EQ(operands[at::kLse].count, query_side / 8);
}

TEST(AttentionProblem, ProvidersByDevice) {
  DeviceInfo device;
  const auto chosen = [&](const AttentionProblem& problem, std::string_view impl) {
    return std::string(select(attention_providers(), device, problem, impl).name);
  };
  EXPECT_EQ(chosen({}, "auto"), "cpu");
#if GPUBENCH_HAS_CUDNN
  EXPECT_THROW(chosen({}, "cudnn"), Unsupported);
  device.kind = DeviceKind::cuda;
  device.cc_major = 9;
  EXPECT_EQ(chosen({}, "auto"), "cudnn");
  EXPECT_THROW(chosen({.dtype = Dtype::fp32}, "auto"), Unsupported);
  device.cc_major = 7;
  EXPECT_THROW(chosen({}, "auto"), Unsupported);
#endif
}

#if GPUBENCH_HAS_CUDNN
TEST(AttentionProblem, WhatCudnnTakesByArchitecture) {
  DeviceInfo device;
  device.kind = DeviceKind::cuda;
  const auto takes = [&](int major, const AttentionProblem& problem) {
    device.cc_major = major;
    return cudnn_attention_provider().supports(device, problem).ok;
  };
  for (const int major : {8, 9, 10, 12}) {
    EXPECT_TRUE(takes(major, {.head_dim = 32})) << major;
    EXPECT_TRUE(takes(major, {.head_dim = 256})) << major;
    EXPECT_FALSE(takes(major, {.head_dim = 264})) << major;
    EXPECT_FALSE(takes(major, {.head_dim = 36})) << major;
    EXPECT_TRUE(takes(major, {.head_dim = 128, .backward = true})) << major;
    EXPECT_EQ(takes(major, {.head_dim = 136, .backward = true}), major == 9) << major;
    EXPECT_EQ(takes(major, {.head_dim = 256, .backward = true}), major == 9 || major == 10);
    AttentionProblem fp8{.head_dim = 128, .dtype = Dtype::fp8_e4m3, .causal = true};
    const bool has_fp8 = major == 9 || major == 10;
    EXPECT_EQ(takes(major, fp8), has_fp8) << major;
    fp8.window = 1;
    EXPECT_FALSE(takes(major, fp8)) << major;
    fp8 = {.head_dim = 40, .dtype = Dtype::fp8_e4m3};
    EXPECT_FALSE(takes(major, fp8)) << major;
    fp8.head_dim = 256;
    EXPECT_EQ(takes(major, fp8), major == 9) << major;
    fp8 = {.dtype = Dtype::fp8_e4m3, .backward = true};
    EXPECT_FALSE(takes(major, fp8)) << major;
    fp8 = {
        .dtype = Dtype::fp8_e4m3, .causal = true, .seq_kv = 4, .align = CausalAlign::bottom_right};
    EXPECT_EQ(takes(major, fp8), major == 10) << major;
    EXPECT_TRUE(takes(major, {.seq = 4, .causal = true, .seq_kv = 8, .window = 2})) << major;
    EXPECT_FALSE(takes(major, {.seq = 8, .causal = true, .seq_kv = 4, .window = 6})) << major;
  }
}
#endif

}  // namespace
}  // namespace gpubench
