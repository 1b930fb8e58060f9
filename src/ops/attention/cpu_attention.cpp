// SPDX-License-Identifier: Apache-2.0
// A head is worked on in blocks of query rows, so that scores need seq * kBlock floats, not seq^2.
// With at least as many heads as threads each thread takes whole heads and the library runs
// single-threaded; with fewer the library's own threads do better.
#include "ops/attention/cpu_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "libs/cblas.h"
#include "libs/libraries.h"
#include "ops/support/parallel.h"
#include "util/units.h"

namespace gpubench {
namespace {

constexpr std::size_t kBlock = 128;  // query rows
constexpr auto kNoTrans = CblasApi::kNoTrans;
constexpr auto kTrans = CblasApi::kTrans;

/// Query rows [begin, begin + rows) of one head, and the keys that any of them sees.
struct Block {
  std::size_t begin, rows, keys;
};

class CpuAttention : public Plan {
 public:
  CpuAttention(CblasApi& blas, const AttentionProblem& problem, int threads)
      : blas_(blas),
        problem_(problem),
        seq_(static_cast<std::size_t>(problem.seq)),
        head_dim_(static_cast<std::size_t>(problem.head_dim)),
        stride_(static_cast<std::size_t>(problem.heads) * head_dim_),
        heads_(static_cast<std::size_t>(problem.batch * problem.heads)),
        threads_(static_cast<std::size_t>(std::max(threads, 1))),
        parts_(heads_ >= threads_ ? threads_ : 1),
        scale_(1 / std::sqrt(static_cast<float>(problem.head_dim))) {}

  std::size_t workspace_bytes() const override {
    const std::size_t matrices = problem_.backward ? 2 : 1;  // P, and dS
    return static_cast<std::size_t>(checked_mul({parts_, matrices, matrix(), sizeof(float)}));
  }

  std::string algorithm() const override {
    return fmt::format("sgemm in {}-row blocks, {} thread{}", kBlock, threads_,
                       threads_ == 1 ? "" : "s");
  }

  void run(Stream&, std::span<void* const> operands, void* workspace) override {
    blas_.set_num_threads(static_cast<int>(parts_ > 1 ? 1 : threads_));
    parallel_for(parts_, 1, [&](std::size_t first, std::size_t last) {
      for (std::size_t part = first; part < last; ++part) {
        auto* scratch =
            static_cast<float*>(workspace) + part * matrix() * (problem_.backward ? 2 : 1);
        for (std::size_t head = part; head < heads_; head += parts_) {
          if (problem_.backward) {
            backward(operands, head, scratch);
          } else {
            forward(operands, head, scratch);
          }
        }
      }
    });
    blas_.set_num_threads(static_cast<int>(threads_));
  }

 private:
  std::size_t matrix() const { return std::min(kBlock, seq_) * seq_; }

  std::size_t offset(std::size_t head) const {
    const auto heads = static_cast<std::size_t>(problem_.heads);
    return head / heads * seq_ * stride_ + head % heads * head_dim_;
  }

  Block block(std::size_t begin) const {
    const std::size_t rows = std::min(kBlock, seq_ - begin);
    return {begin, rows, problem_.causal ? begin + rows : seq_};
  }

  std::size_t keys_of_row(const Block& block, std::size_t row) const {
    return problem_.causal ? block.begin + row + 1 : seq_;
  }

  /// out[rows][keys] = a rows of the block times all keys of b, transposed.
  void multiply_keys(const Block& block, float alpha, const float* a, const float* b,
                     float* out) const {
    blas_.sgemm(kNoTrans, kTrans, block.rows, block.keys, head_dim_, alpha,
                a + block.begin * stride_, stride_, b, stride_, 0, out, block.keys);
  }

  void forward(std::span<void* const> operands, std::size_t head, float* p) const {
    namespace at = attention_forward;
    const auto tensor = [&](std::size_t index) {
      return static_cast<float*>(operands[index]) + offset(head);
    };
    float* lse = static_cast<float*>(operands[at::kLse]) + head * seq_;
    for (std::size_t begin = 0; begin < seq_; begin += kBlock) {
      const Block rows = block(begin);
      multiply_keys(rows, scale_, tensor(at::kQ), tensor(at::kK), p);
      for (std::size_t row = 0; row < rows.rows; ++row) {
        lse[begin + row] = softmax_row(rows, row, p + row * rows.keys);
      }
      blas_.sgemm(kNoTrans, kNoTrans, rows.rows, head_dim_, rows.keys, 1, p, rows.keys,
                  tensor(at::kV), stride_, 0, tensor(at::kO) + begin * stride_, stride_);
    }
  }

  /// Returns the row's log-sum-exp.
  float softmax_row(const Block& block, std::size_t row, float* scores) const {
    const std::size_t keys = keys_of_row(block, row);
    const float largest = *std::max_element(scores, scores + keys);
    float sum = 0;
    for (std::size_t key = 0; key < keys; ++key) {
      scores[key] = std::exp(scores[key] - largest);
      sum += scores[key];
    }
    const float factor = 1 / sum;
    for (std::size_t key = 0; key < keys; ++key) scores[key] *= factor;
    std::fill(scores + keys, scores + block.keys, 0.f);
    return largest + std::log(sum);
  }

  void backward(std::span<void* const> operands, std::size_t head, float* p) const {
    namespace at = attention_backward;
    const auto tensor = [&](std::size_t index) {
      return static_cast<float*>(operands[index]) + offset(head);
    };
    const float* lse = static_cast<const float*>(operands[at::kLse]) + head * seq_;
    float* ds = p + matrix();
    for (std::size_t row = 0; row < seq_; ++row) {
      std::fill_n(tensor(at::kDK) + row * stride_, head_dim_, 0.f);
      std::fill_n(tensor(at::kDV) + row * stride_, head_dim_, 0.f);
    }
    for (std::size_t begin = 0; begin < seq_; begin += kBlock) {
      const Block rows = block(begin);
      const std::size_t start = begin * stride_;
      multiply_keys(rows, scale_, tensor(at::kQ), tensor(at::kK), p);
      multiply_keys(rows, 1, tensor(at::kDO), tensor(at::kV), ds);
      for (std::size_t row = 0; row < rows.rows; ++row) {
        const std::size_t at_row = start + row * stride_;
        const float delta = row_delta(tensor(at::kDO) + at_row, tensor(at::kO) + at_row);
        differentiate_row(rows, row, lse[begin + row], delta, p + row * rows.keys,
                          ds + row * rows.keys);
      }
      blas_.sgemm(kNoTrans, kNoTrans, rows.rows, head_dim_, rows.keys, scale_, ds, rows.keys,
                  tensor(at::kK), stride_, 0, tensor(at::kDQ) + start, stride_);
      blas_.sgemm(kTrans, kNoTrans, rows.keys, head_dim_, rows.rows, scale_, ds, rows.keys,
                  tensor(at::kQ) + start, stride_, 1, tensor(at::kDK), stride_);
      blas_.sgemm(kTrans, kNoTrans, rows.keys, head_dim_, rows.rows, 1, p, rows.keys,
                  tensor(at::kDO) + start, stride_, 1, tensor(at::kDV), stride_);
    }
  }

  float row_delta(const float* d_o, const float* o) const {
    float sum = 0;
    for (std::size_t i = 0; i < head_dim_; ++i) sum += d_o[i] * o[i];
    return sum;
  }

  /// Scores become P, dP becomes dS = P (dP - delta).
  void differentiate_row(const Block& block, std::size_t row, float lse, float delta, float* p,
                         float* ds) const {
    const std::size_t keys = keys_of_row(block, row);
    for (std::size_t key = 0; key < keys; ++key) {
      p[key] = std::exp(p[key] - lse);
      ds[key] = p[key] * (ds[key] - delta);
    }
    std::fill(p + keys, p + block.keys, 0.f);
    std::fill(ds + keys, ds + block.keys, 0.f);
  }

  CblasApi& blas_;
  AttentionProblem problem_;
  std::size_t seq_, head_dim_, stride_, heads_;
  std::size_t threads_, parts_;
  float scale_;
};

Support supports(const DeviceInfo& device, const AttentionProblem&) {
  if (device.kind == DeviceKind::cpu) return Support::yes();
  return Support::no("E_UNSUPPORTED_DEVICE", "runs on the cpu device only (--device cpu)");
}

std::unique_ptr<Plan> make_plan(Context& context, const AttentionProblem& problem) {
  return std::make_unique<CpuAttention>(context.libraries.cblas(), problem,
                                        context.device.info().sm_count);
}

}  // namespace

Provider<AttentionProblem> cpu_attention_provider() { return {"cpu", supports, make_plan}; }

}  // namespace gpubench
