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
  return "seq " + std::to_string(problem.seq) + " head_dim " + std::to_string(problem.head_dim) +
         (problem.causal ? " causal" : "") + (problem.backward ? " backward" : "");
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
  EXPECT_THROW(chosen({.head_dim = 256}, "auto"), Unsupported);
  EXPECT_THROW(chosen({.dtype = Dtype::fp32}, "auto"), Unsupported);
  device.cc_major = 7;
  EXPECT_THROW(chosen({}, "auto"), Unsupported);
#endif
}

}  // namespace
}  // namespace gpubench
