// SPDX-License-Identifier: Apache-2.0
// The tolerances against what a provider of each type rounds: the softmax before the second
// product, and O. They must hold it, and must not be far above it.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "device/devices.h"
#include "ops/attention/attention.h"
#include "ops/attention/reference.h"
#include "ops/support/operands.h"

namespace gpubench {
namespace {

constexpr float kSoftmaxScale = 256;  // FP8: of values up to 1, as cuDNN's documentation advises

struct Given {
  AttentionProblem problem;
  bool normalised;  ///< the softmax is divided by its sum before it is rounded, not after
};

class AttentionToleranceTest : public testing::TestWithParam<Given> {};

/// O of one head with the roundings of a flash-style kernel, everything else in double.
void round_as_kernels_do(const Given& given, const float* q, const float* k, const float* v,
                         float* o) {
  const AttentionProblem& p = given.problem;
  const auto depth = static_cast<std::size_t>(p.head_dim);
  const auto keys = static_cast<std::size_t>(p.keys());
  const bool fp8 = p.dtype == Dtype::fp8_e4m3;
  for (std::size_t i = 0; i < static_cast<std::size_t>(p.seq); ++i) {
    const std::size_t seen = p.causal ? i + 1 : keys;
    std::vector<double> scores(seen);
    double largest = -INFINITY, sum = 0;
    for (std::size_t j = 0; j < seen; ++j) {
      for (std::size_t d = 0; d < depth; ++d) {
        scores[j] += static_cast<double>(q[i * depth + d]) * static_cast<double>(k[j * depth + d]);
      }
      scores[j] *= attention_score_scale(p);
      largest = std::fmax(largest, scores[j]);
    }
    for (const double score : scores) sum += std::exp(score - largest);
    std::vector<double> row(depth);
    for (std::size_t j = 0; j < seen; ++j) {
      const double scale = (fp8 ? kSoftmaxScale : 1) / (given.normalised ? sum : 1);
      const float weight =
          round_to(p.dtype, static_cast<float>(scale * std::exp(scores[j] - largest)));
      for (std::size_t d = 0; d < depth; ++d) {
        row[d] += static_cast<double>(weight) * static_cast<double>(v[j * depth + d]);
      }
    }
    const double factor = 1 / ((fp8 ? kSoftmaxScale : 1) * (given.normalised ? 1 : sum));
    for (std::size_t d = 0; d < depth; ++d) {
      o[i * depth + d] = round_to(p.dtype, static_cast<float>(factor * row[d]));
    }
  }
}

TEST_P(AttentionToleranceTest, HoldsTheRoundingAndLittleMore) {
  const AttentionProblem& problem = GetParam().problem;
  const auto device = make_cpu_device();
  const auto stream = device->make_stream();
  const std::vector<Operand> operands = attention_operands(problem);
  namespace at = attention_forward;
  std::vector<std::vector<float>> values;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    values.emplace_back(operands[i].count);
    fill_operand(*device, *stream, values[i].data(), operands[i], DataDist::normal, 1, i);
  }
  std::vector<float> expected(operands[at::kO].count), lse(operands[at::kLse].count);
  attention_forward_host(problem, values[at::kQ].data(), values[at::kK].data(),
                         values[at::kV].data(), expected.data(), lse.data());
  round_as_kernels_do(GetParam(), values[at::kQ].data(), values[at::kK].data(),
                      values[at::kV].data(), values[at::kO].data());
  const Check check = compare_with_reference(*device, *stream, values[at::kO].data(),
                                             operands[at::kO], expected.data());
  EXPECT_TRUE(check.passed) << check.error << " of " << check.tolerance << ": " << check.detail;
  EXPECT_GT(check.error, check.tolerance / 10) << "far above what rounding explains";
}

std::vector<Given> given() {
  std::vector<Given> all;
  for (const Dtype dtype : {Dtype::bf16, Dtype::fp16, Dtype::fp8_e4m3}) {
    for (const bool causal : {false, true}) {
      for (const bool normalised : {false, true}) {
        all.push_back(
            {{.batch = 1, .heads = 1, .seq = 512, .dtype = dtype, .causal = causal}, normalised});
      }
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Types, AttentionToleranceTest, testing::ValuesIn(given()),
                         [](const auto& tested) {
                           return std::string(to_string(tested.param.problem.dtype)) +
                                  (tested.param.problem.causal ? "_causal" : "_full") +
                                  (tested.param.normalised ? "_normalised" : "_raw");
                         });

}  // namespace
}  // namespace gpubench
