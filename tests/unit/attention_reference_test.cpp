// SPDX-License-Identifier: Apache-2.0
// The host reference against the definition, and its gradients against finite differences.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "ops/attention/attention.h"
#include "ops/attention/reference.h"

namespace gpubench {
namespace {

using Values = std::vector<float>;

std::size_t count_of(const AttentionProblem& problem) {
  return static_cast<std::size_t>(problem.batch * problem.seq * problem.heads * problem.head_dim);
}

Values random_values(std::size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  Values values(count);
  for (float& value : values) value = normal(generator);
  return values;
}

/// Element [b][s][h][d].
template <class T>
T& element(std::vector<T>& values, const AttentionProblem& p, std::int64_t b, std::int64_t s,
           std::int64_t h, std::int64_t d) {
  return values[static_cast<std::size_t>(((b * p.seq + s) * p.heads + h) * p.head_dim + d)];
}

struct Definition {
  std::vector<double> o, lse;
};

/// softmax(Q K^T / sqrt(d)) V, literally, of doubles.
Definition define(const AttentionProblem& p, std::vector<double> q, std::vector<double> k,
                  std::vector<double> v) {
  Definition result{std::vector<double>(count_of(p)), {}};
  for (std::int64_t b = 0; b < p.batch; ++b) {
    for (std::int64_t h = 0; h < p.heads; ++h) {
      for (std::int64_t i = 0; i < p.seq; ++i) {
        std::vector<double> weight;
        double total = 0;
        for (std::int64_t j = 0; j < p.seq && (!p.causal || j <= i); ++j) {
          double score = 0;
          for (std::int64_t d = 0; d < p.head_dim; ++d) {
            score += element(q, p, b, i, h, d) * element(k, p, b, j, h, d);
          }
          weight.push_back(std::exp(score / std::sqrt(static_cast<double>(p.head_dim))));
          total += weight.back();
        }
        for (std::size_t j = 0; j < weight.size(); ++j) {
          for (std::int64_t d = 0; d < p.head_dim; ++d) {
            element(result.o, p, b, i, h, d) +=
                weight[j] / total * element(v, p, b, static_cast<std::int64_t>(j), h, d);
          }
        }
        result.lse.push_back(std::log(total));
      }
    }
  }
  return result;
}

std::vector<double> widen(const Values& values) { return {values.begin(), values.end()}; }

class AttentionReferenceTest : public testing::TestWithParam<AttentionProblem> {};

TEST_P(AttentionReferenceTest, ForwardIsTheDefinition) {
  const AttentionProblem problem = GetParam();
  const std::size_t count = count_of(problem);
  const Values q = random_values(count, 1), k = random_values(count, 2),
               v = random_values(count, 3);
  Values o(count, NAN), lse(count / static_cast<std::size_t>(problem.head_dim), NAN);
  attention_forward_host(problem, q.data(), k.data(), v.data(), o.data(), lse.data());
  const Definition expected = define(problem, widen(q), widen(k), widen(v));
  for (std::size_t i = 0; i < count; ++i) ASSERT_NEAR(o[i], expected.o[i], 1e-6) << i;
  for (std::size_t i = 0; i < lse.size(); ++i) ASSERT_NEAR(lse[i], expected.lse[i], 1e-5) << i;
}

TEST_P(AttentionReferenceTest, GradientsAreFiniteDifferences) {
  const AttentionProblem problem = GetParam();
  const std::size_t count = count_of(problem);
  const Values inputs[] = {random_values(count, 4), random_values(count, 5),
                           random_values(count, 6)};
  const Values d_o = random_values(count, 7);
  Values o(count), lse(count / static_cast<std::size_t>(problem.head_dim));
  attention_forward_host(problem, inputs[0].data(), inputs[1].data(), inputs[2].data(), o.data(),
                         lse.data());
  Values gradients[3] = {Values(count, NAN), Values(count, NAN), Values(count, NAN)};
  attention_backward_host(problem, inputs[0].data(), inputs[1].data(), inputs[2].data(), o.data(),
                          d_o.data(), gradients[0].data(), gradients[1].data(),
                          gradients[2].data());
  const auto loss = [&](const std::vector<double>(&at)[3]) {
    const Definition result = define(problem, at[0], at[1], at[2]);
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += result.o[i] * static_cast<double>(d_o[i]);
    return sum;
  };
  constexpr double kStep = 1e-5;
  constexpr std::size_t kProbes = 12;
  const std::size_t stride = std::max<std::size_t>(count / kProbes, 1);
  for (int which = 0; which < 3; ++which) {
    for (std::size_t i = 0; i < count; i += stride) {
      std::vector<double> at[3] = {widen(inputs[0]), widen(inputs[1]), widen(inputs[2])};
      const double middle = at[which][i];
      at[which][i] = middle + kStep;
      const double above = loss(at);
      at[which][i] = middle - kStep;
      const double below = loss(at);
      // O was rounded to FP32, and with it delta: some 1e-6 of terms of order 10.
      ASSERT_NEAR(gradients[which][i], (above - below) / (2 * kStep), 2e-5)
          << "gradient " << which << " at " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, AttentionReferenceTest,
    testing::Values(
        AttentionProblem{.batch = 1, .heads = 1, .seq = 1, .head_dim = 4},
        AttentionProblem{.batch = 2, .heads = 3, .seq = 7, .head_dim = 5},
        AttentionProblem{.batch = 2, .heads = 3, .seq = 7, .head_dim = 5, .causal = true},
        AttentionProblem{.batch = 1, .heads = 2, .seq = 33, .head_dim = 8, .causal = true}));

TEST(AttentionReference, DeltaUsesTheOutputGiven) {
  const AttentionProblem problem{.batch = 1, .heads = 1, .seq = 5, .head_dim = 4};
  const std::size_t count = count_of(problem);
  const Values q = random_values(count, 1), k = random_values(count, 2),
               v = random_values(count, 3), d_o = random_values(count, 4);
  Values o(count), lse(5), dq(count), dk(count), dv(count), other_dq(count);
  attention_forward_host(problem, q.data(), k.data(), v.data(), o.data(), lse.data());
  attention_backward_host(problem, q.data(), k.data(), v.data(), o.data(), d_o.data(), dq.data(),
                          dk.data(), dv.data());
  for (float& value : o) value += 1;
  attention_backward_host(problem, q.data(), k.data(), v.data(), o.data(), d_o.data(),
                          other_dq.data(), dk.data(), dv.data());
  EXPECT_NE(dq, other_dq);
}

}  // namespace
}  // namespace gpubench
