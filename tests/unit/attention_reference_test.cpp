// SPDX-License-Identifier: Apache-2.0
// The host reference against the definition, and its gradients against finite differences.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "ops/attention/attention.h"
#include "ops/attention/reference.h"

namespace gpubench {
namespace {

using Values = std::vector<float>;

std::size_t query_count(const AttentionProblem& p) {
  return static_cast<std::size_t>(p.batch * p.seq * p.heads * p.head_dim);
}
std::size_t key_count(const AttentionProblem& p) {
  return static_cast<std::size_t>(p.batch * p.keys() * p.key_heads() * p.head_dim);
}

Values random_values(std::size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  Values values(count);
  for (float& value : values) value = normal(generator);
  return values;
}

/// Element [b][s][h][d] of q or o.
template <class T>
T& element(std::vector<T>& values, const AttentionProblem& p, std::int64_t b, std::int64_t s,
           std::int64_t h, std::int64_t d) {
  return values[static_cast<std::size_t>(((b * p.seq + s) * p.heads + h) * p.head_dim + d)];
}
/// Element of k or v that head h of the queries uses.
template <class T>
T& key_element(std::vector<T>& values, const AttentionProblem& p, std::int64_t b, std::int64_t s,
               std::int64_t h, std::int64_t d) {
  const std::int64_t shared_by = p.heads / p.key_heads();
  return values[static_cast<std::size_t>(
      ((b * p.keys() + s) * p.key_heads() + h / shared_by) * p.head_dim + d)];
}

/// The mask as docs/measuring.md tells it, with its own arithmetic.
bool sees(const AttentionProblem& p, std::int64_t query, std::int64_t key) {
  if (!p.causal) return true;
  const std::int64_t from_end = p.keys() - p.seq;
  const std::int64_t self = query + (p.align == CausalAlign::bottom_right ? from_end : 0);
  if (key > self) return false;
  return p.window == 0 || self - key + 1 <= p.window;
}

struct Definition {
  std::vector<double> o, lse;
};

/// softmax(Q K^T / sqrt(d)) V, literally, of doubles.
Definition define(const AttentionProblem& p, std::vector<double> q, std::vector<double> k,
                  std::vector<double> v) {
  Definition result{std::vector<double>(query_count(p)), {}};
  // FP8: what the stored values stand for.
  const double stored = p.dtype == Dtype::fp8_e4m3 ? 64 : 1;
  const double factor = 1 / (std::sqrt(static_cast<double>(p.head_dim)) * stored * stored);
  for (std::int64_t b = 0; b < p.batch; ++b) {
    for (std::int64_t h = 0; h < p.heads; ++h) {
      for (std::int64_t i = 0; i < p.seq; ++i) {
        std::vector<double> weight(static_cast<std::size_t>(p.keys()));
        double total = 0;
        for (std::int64_t j = 0; j < p.keys(); ++j) {
          if (!sees(p, i, j)) continue;
          double score = 0;
          for (std::int64_t d = 0; d < p.head_dim; ++d) {
            score += element(q, p, b, i, h, d) * key_element(k, p, b, j, h, d);
          }
          weight[static_cast<std::size_t>(j)] = std::exp(score * factor);
          total += weight[static_cast<std::size_t>(j)];
        }
        for (std::size_t j = 0; j < weight.size(); ++j) {
          for (std::int64_t d = 0; d < p.head_dim; ++d) {
            element(result.o, p, b, i, h, d) +=
                weight[j] / total * key_element(v, p, b, static_cast<std::int64_t>(j), h, d);
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

struct Inputs {
  Values q, k, v;
};

Inputs random_inputs(const AttentionProblem& p, unsigned seed) {
  return {random_values(query_count(p), seed), random_values(key_count(p), seed + 1),
          random_values(key_count(p), seed + 2)};
}

std::size_t row_count(const AttentionProblem& p) {
  return query_count(p) / static_cast<std::size_t>(p.head_dim);
}

TEST_P(AttentionReferenceTest, ForwardIsTheDefinition) {
  const AttentionProblem problem = GetParam();
  const Inputs in = random_inputs(problem, 1);
  Values o(query_count(problem), NAN), lse(row_count(problem), NAN);
  attention_forward_host(problem, in.q.data(), in.k.data(), in.v.data(), o.data(), lse.data());
  const Definition expected = define(problem, widen(in.q), widen(in.k), widen(in.v));
  for (std::size_t i = 0; i < o.size(); ++i) ASSERT_NEAR(o[i], expected.o[i], 1e-6) << i;
  for (std::size_t i = 0; i < lse.size(); ++i) ASSERT_NEAR(lse[i], expected.lse[i], 1e-5) << i;
}

TEST_P(AttentionReferenceTest, GradientsAreFiniteDifferences) {
  const AttentionProblem problem = GetParam();
  const Inputs in = random_inputs(problem, 4);
  const Values d_o = random_values(query_count(problem), 7);
  Values o(query_count(problem)), lse(row_count(problem));
  attention_forward_host(problem, in.q.data(), in.k.data(), in.v.data(), o.data(), lse.data());
  Values gradients[3] = {Values(in.q.size(), NAN), Values(in.k.size(), NAN),
                         Values(in.v.size(), NAN)};
  attention_backward_host(problem, in.q.data(), in.k.data(), in.v.data(), o.data(), d_o.data(),
                          gradients[0].data(), gradients[1].data(), gradients[2].data());
  const auto loss = [&](const std::vector<double>(&at)[3]) {
    const Definition result = define(problem, at[0], at[1], at[2]);
    double sum = 0;
    for (std::size_t i = 0; i < o.size(); ++i) sum += result.o[i] * static_cast<double>(d_o[i]);
    return sum;
  };
  constexpr double kStep = 1e-5;
  constexpr std::size_t kProbes = 12;
  for (int which = 0; which < 3; ++which) {
    const std::size_t count = gradients[which].size();
    for (const float value : gradients[which]) ASSERT_TRUE(std::isfinite(value));  // all written
    for (std::size_t i = 0; i < count; i += std::max<std::size_t>(count / kProbes, 1)) {
      std::vector<double> at[3] = {widen(in.q), widen(in.k), widen(in.v)};
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

constexpr CausalAlign kTop = CausalAlign::top_left, kBottom = CausalAlign::bottom_right;

/// batch, heads, seq, head_dim, dtype, causal, backward, kv_heads, seq_kv, align, window.
std::vector<AttentionProblem> problems() {
  constexpr Dtype kType = Dtype::bf16;  // not looked at: the values are used as they are
  return {
      {1, 1, 1, 4},
      {2, 3, 7, 5},
      {2, 3, 7, 5, kType, true},
      {1, 2, 33, 8, kType, true},
      {2, 6, 7, 5, kType, false, false, 2},
      {2, 6, 7, 5, kType, true, false, 3},
      {2, 4, 9, 5, kType, true, false, 1},
      {2, 2, 5, 3, kType, false, false, 0, 11},
      {2, 2, 11, 3, kType, false, false, 0, 5},
      {1, 4, 1, 6, kType, false, false, 2, 17},
      {1, 2, 5, 3, kType, true, false, 0, 11, kTop},
      {1, 2, 11, 3, kType, true, false, 0, 5, kTop},
      {1, 2, 5, 3, kType, true, false, 0, 11, kBottom},
      {1, 2, 1, 3, kType, true, false, 1, 11, kBottom},
      {1, 2, 13, 3, kType, true, false, 0, 0, kTop, 4},
      {1, 2, 13, 3, kType, true, false, 0, 0, kTop, 1},
      {1, 4, 6, 3, kType, true, false, 2, 15, kBottom, 4},
      {1, 4, 6, 3, kType, true, false, 2, 15, kTop, 40},
  };
}

INSTANTIATE_TEST_SUITE_P(Shapes, AttentionReferenceTest, testing::ValuesIn(problems()));

TEST(AttentionReference, Fp8ValuesStandForASixtyFourth) {
  const AttentionProblem problem{
      .batch = 1, .heads = 2, .seq = 9, .head_dim = 5, .dtype = Dtype::fp8_e4m3, .causal = true};
  Inputs in = random_inputs(problem, 1);
  for (Values* values : {&in.q, &in.k, &in.v}) {
    for (float& value : *values) value = round_to(problem.dtype, 64 * value);
  }
  Values o(query_count(problem), NAN), lse(row_count(problem), NAN);
  attention_forward_host(problem, in.q.data(), in.k.data(), in.v.data(), o.data(), lse.data());
  const Definition expected = define(problem, widen(in.q), widen(in.k), widen(in.v));
  for (std::size_t i = 0; i < o.size(); ++i) ASSERT_NEAR(o[i], expected.o[i], 1e-4) << i;
  for (std::size_t i = 0; i < lse.size(); ++i) ASSERT_NEAR(lse[i], expected.lse[i], 1e-5) << i;
}

TEST(AttentionReference, DeltaUsesTheOutputGiven) {
  const AttentionProblem problem{.batch = 1, .heads = 1, .seq = 5, .head_dim = 4};
  const std::size_t count = query_count(problem);
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
