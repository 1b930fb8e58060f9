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

/// One batch and head of a [batch][seq][heads][head_dim] tensor.
struct Layout {
  Layout(const AttentionProblem& problem, std::size_t index)
      : seq(static_cast<std::size_t>(problem.seq)),
        head_dim(static_cast<std::size_t>(problem.head_dim)),
        stride(static_cast<std::size_t>(problem.heads) * head_dim),
        offset(index / static_cast<std::size_t>(problem.heads) * seq * stride +
               index % static_cast<std::size_t>(problem.heads) * head_dim),
        lse_offset(index * seq) {}

  std::size_t row(std::size_t position) const { return offset + position * stride; }

  std::size_t seq, head_dim, stride, offset, lse_offset;
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

/// One head of the problem, in the plainest form: every score is computed where it is needed.
class Head {
 public:
  Head(const AttentionProblem& problem, std::size_t index, const float* q, const float* k)
      : at(problem, index),
        scale(1 / std::sqrt(static_cast<double>(problem.head_dim))),
        causal_(problem.causal),
        q_(q),
        k_(k) {}

  /// Keys that a query sees: [0, end).
  std::size_t keys_end(std::size_t query) const { return causal_ ? query + 1 : at.seq; }
  /// Queries that see a key: [begin, seq).
  std::size_t queries_begin(std::size_t key) const { return causal_ ? key : 0; }

  double score(std::size_t query, std::size_t key) const {
    return scale * dot(q_ + at.row(query), k_ + at.row(key), at.head_dim);
  }

  std::vector<double> log_sum_exp() const {
    std::vector<double> result(at.seq), scores;
    for (std::size_t query = 0; query < at.seq; ++query) {
      scores.clear();
      for (std::size_t key = 0; key < keys_end(query); ++key) scores.push_back(score(query, key));
      const double largest = *std::max_element(scores.begin(), scores.end());
      double sum = 0;
      for (const double value : scores) sum += std::exp(value - largest);
      result[query] = largest + std::log(sum);
    }
    return result;
  }

  const Layout at;
  const double scale;

 private:
  bool causal_;
  const float *q_, *k_;
};

void forward_head(const Head& head, const float* v, float* o, float* lse) {
  const std::vector<double> exact_lse = head.log_sum_exp();
  std::vector<double> sum(head.at.head_dim);
  for (std::size_t query = 0; query < head.at.seq; ++query) {
    std::fill(sum.begin(), sum.end(), 0.0);
    for (std::size_t key = 0; key < head.keys_end(query); ++key) {
      add_scaled(sum, std::exp(head.score(query, key) - exact_lse[query]), v + head.at.row(key));
    }
    store(o + head.at.row(query), sum, 1);
    lse[head.at.lse_offset + query] = static_cast<float>(exact_lse[query]);
  }
}

struct BackwardArrays {
  const float *q, *k, *v, *o, *d_o;
  float *dq, *dk, *dv;
};

void backward_head(const Head& head, const BackwardArrays& in) {
  const Layout& at = head.at;
  const std::vector<double> lse = head.log_sum_exp();
  std::vector<double> delta(at.seq);
  for (std::size_t query = 0; query < at.seq; ++query) {
    delta[query] = dot(in.d_o + at.row(query), in.o + at.row(query), at.head_dim);
  }
  const auto probability = [&](std::size_t query, std::size_t key) {
    return std::exp(head.score(query, key) - lse[query]);
  };
  const auto score_gradient = [&](std::size_t query, std::size_t key, double p) {
    return p * (dot(in.d_o + at.row(query), in.v + at.row(key), at.head_dim) - delta[query]);
  };
  std::vector<double> sum(at.head_dim), sum_v(at.head_dim);
  for (std::size_t query = 0; query < at.seq; ++query) {
    std::fill(sum.begin(), sum.end(), 0.0);
    for (std::size_t key = 0; key < head.keys_end(query); ++key) {
      add_scaled(sum, score_gradient(query, key, probability(query, key)), in.k + at.row(key));
    }
    store(in.dq + at.row(query), sum, head.scale);
  }
  for (std::size_t key = 0; key < at.seq; ++key) {
    std::fill(sum.begin(), sum.end(), 0.0);
    std::fill(sum_v.begin(), sum_v.end(), 0.0);
    for (std::size_t query = head.queries_begin(key); query < at.seq; ++query) {
      const double p = probability(query, key);
      add_scaled(sum, score_gradient(query, key, p), in.q + at.row(query));
      add_scaled(sum_v, p, in.d_o + at.row(query));
    }
    store(in.dk + at.row(key), sum, head.scale);
    store(in.dv + at.row(key), sum_v, 1);
  }
}

template <class Body>
void for_each_head(const AttentionProblem& problem, const Body& body) {
  parallel_for(static_cast<std::size_t>(problem.batch * problem.heads), 1,
               [&](std::size_t begin, std::size_t end) {
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
  for_each_head(problem,
                [&](std::size_t index) { forward_head(Head(problem, index, q, k), v, o, lse); });
}

void attention_backward_host(const AttentionProblem& problem, const float* q, const float* k,
                             const float* v, const float* o, const float* d_o, float* dq, float* dk,
                             float* dv) {
  for_each_head(problem, [&](std::size_t index) {
    backward_head(Head(problem, index, q, k), {q, k, v, o, d_o, dq, dk, dv});
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
