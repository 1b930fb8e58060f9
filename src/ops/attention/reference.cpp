// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/reference.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "gpubench/error.h"
#include "ops/support/parallel.h"

namespace gpubench {
namespace {

/// One batch and head of a [batch][positions][heads][head_dim] tensor.
struct Matrix {
  Matrix(std::size_t index, std::int64_t all_heads, std::int64_t positions, std::int64_t head_dim)
      : rows(static_cast<std::size_t>(positions)), depth(static_cast<std::size_t>(head_dim)) {
    const auto heads = static_cast<std::size_t>(all_heads);
    stride_ = heads * depth;
    offset_ = index / heads * rows * stride_ + index % heads * depth;
  }

  std::size_t row(std::size_t position) const { return offset_ + position * stride_; }

  std::size_t rows, depth;

 private:
  std::size_t stride_ = 0, offset_ = 0;
};

double dot(const float* a, const float* b, std::size_t count) {
  constexpr std::size_t kLanes = 8;  // sums that do not wait for one another
  double sums[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      sums[lane] += static_cast<double>(a[i + lane]) * b[i + lane];
    }
  }
  for (; i < count; ++i) sums[0] += static_cast<double>(a[i]) * b[i];
  return std::accumulate(sums, sums + kLanes, 0.0);
}

void add_scaled(std::vector<double>& to, double factor, const float* from) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += factor * from[i];
}

void store(float* to, const std::vector<double>& from, double factor) {
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = static_cast<float>(factor * from[i]);
}

/// One head of the problem, in the plainest form: whether a query sees a key is asked of each pair.
class Head {
 public:
  /// `index`: batch * heads + head.
  Head(const AttentionProblem& problem, std::size_t index, const float* q, const float* k)
      : queries(index, problem.heads, problem.seq, problem.head_dim),
        keys(index / static_cast<std::size_t>(problem.heads / problem.key_heads()),
             problem.key_heads(), problem.keys(), problem.head_dim),
        lse_offset(index * queries.rows),
        scale(attention_score_scale(problem)),
        problem_(problem),
        q_(q),
        k_(k) {}

  bool sees(std::size_t query, std::size_t key) const {
    if (!problem_.causal) return true;
    const std::int64_t last = static_cast<std::int64_t>(query) + problem_.diagonal();
    const std::int64_t behind = last - static_cast<std::int64_t>(key);
    return behind >= 0 && (problem_.window == 0 || behind < problem_.window);
  }

  double score(std::size_t query, std::size_t key) const {
    return scale * dot(q_ + queries.row(query), k_ + keys.row(key), queries.depth);
  }

  double log_sum_exp(std::size_t query) const {
    std::vector<double> scores;
    for (std::size_t key = 0; key < keys.rows; ++key) {
      if (sees(query, key)) scores.push_back(score(query, key));
    }
    const double largest = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (const double value : scores) sum += std::exp(value - largest);
    return largest + std::log(sum);
  }

  const Matrix queries, keys;
  const std::size_t lse_offset;
  const double scale;

 private:
  const AttentionProblem& problem_;
  const float *q_, *k_;
};

void forward_head(const Head& head, const float* v, float* o, float* lse) {
  std::vector<double> sum(head.queries.depth);
  for (std::size_t query = 0; query < head.queries.rows; ++query) {
    const double exact_lse = head.log_sum_exp(query);
    std::fill(sum.begin(), sum.end(), 0.0);
    for (std::size_t key = 0; key < head.keys.rows; ++key) {
      if (!head.sees(query, key)) continue;
      add_scaled(sum, std::exp(head.score(query, key) - exact_lse), v + head.keys.row(key));
    }
    store(o + head.queries.row(query), sum, 1);
    lse[head.lse_offset + query] = static_cast<float>(exact_lse);
  }
}

struct BackwardArrays {
  const float *q, *k, *v, *o, *d_o;
  float *dq, *dk, *dv;
};

/// Gradients of the keys and values of one head, summed over the queries that see them.
struct KeyGradients {
  std::vector<std::vector<double>> dk, dv;  // by key
};

/// dQ of a head; adds to the gradients of its keys, which it may share with other heads.
void backward_head(const Head& head, const BackwardArrays& in, KeyGradients& gradients) {
  const Matrix &queries = head.queries, &keys = head.keys;
  std::vector<double> sum(queries.depth);
  for (std::size_t query = 0; query < queries.rows; ++query) {
    const std::size_t row = queries.row(query);
    const double lse = head.log_sum_exp(query);
    const double delta = dot(in.d_o + row, in.o + row, queries.depth);
    std::fill(sum.begin(), sum.end(), 0.0);
    for (std::size_t key = 0; key < keys.rows; ++key) {
      if (!head.sees(query, key)) continue;
      const double p = std::exp(head.score(query, key) - lse);
      const double ds = p * (dot(in.d_o + row, in.v + keys.row(key), queries.depth) - delta);
      add_scaled(sum, ds, in.k + keys.row(key));
      add_scaled(gradients.dk[key], ds, in.q + row);
      add_scaled(gradients.dv[key], p, in.d_o + row);
    }
    store(in.dq + row, sum, head.scale);
  }
}

template <class Body>
void for_each_index(std::int64_t count, const Body& body) {
  parallel_for(static_cast<std::size_t>(count), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t index = begin; index < end; ++index) body(index);
  });
}

class HostReference : public AttentionReference {
 public:
  explicit HostReference(const AttentionProblem& problem) : problem_(problem) {}

  void forward_state(Stream& stream, const void* q, const void* k, const void* v, void* o,
                     float* lse) override {
    stream.synchronize();
    auto* out = static_cast<float*>(o);
    attention_forward_host(problem_, static_cast<const float*>(q), static_cast<const float*>(k),
                           static_cast<const float*>(v), out, lse);
    const auto count = static_cast<std::size_t>(problem_.batch * problem_.seq * problem_.heads *
                                                problem_.head_dim);
    for (std::size_t i = 0; i < count; ++i) out[i] = round_to(problem_.dtype, out[i]);
  }

  void outputs(Stream& stream, std::span<void* const> operands,
               std::span<float* const> references) override {
    stream.synchronize();
    const auto array = [&](std::size_t index) {
      return static_cast<const float*>(operands[index]);
    };
    if (problem_.backward) {
      namespace at = attention_backward;
      attention_backward_host(problem_, array(at::kQ), array(at::kK), array(at::kV), array(at::kO),
                              array(at::kDO), references[0], references[1], references[2]);
    } else {
      namespace at = attention_forward;
      attention_forward_host(problem_, array(at::kQ), array(at::kK), array(at::kV), references[0],
                             references[1]);
    }
  }

 private:
  AttentionProblem problem_;
};

}  // namespace

void attention_forward_host(const AttentionProblem& problem, const float* q, const float* k,
                            const float* v, float* o, float* lse) {
  for_each_index(problem.batch * problem.heads,
                 [&](std::size_t index) { forward_head(Head(problem, index, q, k), v, o, lse); });
}

void attention_backward_host(const AttentionProblem& problem, const float* q, const float* k,
                             const float* v, const float* o, const float* d_o, float* dq, float* dk,
                             float* dv) {
  const auto group = static_cast<std::size_t>(problem.heads / problem.key_heads());
  const auto depth = static_cast<std::size_t>(problem.head_dim);
  const std::vector<std::vector<double>> zeros(static_cast<std::size_t>(problem.keys()),
                                               std::vector<double>(depth));
  // Heads that share keys follow one another, across the batches too: batch * heads + head.
  for_each_index(problem.batch * problem.key_heads(), [&](std::size_t key_head) {
    KeyGradients gradients{zeros, zeros};
    for (std::size_t index = key_head * group; index < (key_head + 1) * group; ++index) {
      backward_head(Head(problem, index, q, k), {q, k, v, o, d_o, dq, dk, dv}, gradients);
    }
    const Head head(problem, key_head * group, q, k);
    for (std::size_t key = 0; key < head.keys.rows; ++key) {
      store(dk + head.keys.row(key), gradients.dk[key], head.scale);
      store(dv + head.keys.row(key), gradients.dv[key], 1);
    }
  });
}

std::unique_ptr<AttentionReference> make_attention_reference(Device& device,
                                                             const AttentionProblem& problem) {
  if (device.info().kind == DeviceKind::cpu) return std::make_unique<HostReference>(problem);
#if GPUBENCH_HAS_CUDA
  return make_attention_reference_cuda(device, problem);
#else
  throw DeviceError("E_NO_CUDA",
                    "this build has no CUDA: build with a CUDA toolkit, or --device cpu");
#endif
}

}  // namespace gpubench
