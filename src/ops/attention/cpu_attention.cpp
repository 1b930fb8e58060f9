// SPDX-License-Identifier: Apache-2.0
// A head is worked on in blocks of query rows, so that scores need seq_kv * kBlock floats, not
// seq * seq_kv. Heads that share keys are one task, since they add to the same dK and dV. With at
// least as many tasks as threads each thread takes whole tasks and the library runs
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

/// Query rows [begin, begin + rows) of one head, and the keys [first_key, first_key + keys) that
/// any of them sees.
struct Block {
  std::size_t begin, rows, first_key, keys;
};

/// Keys [begin, end) that a query sees.
struct KeyRange {
  std::size_t begin, end;
};

class CpuAttention : public Plan {
 public:
  CpuAttention(CblasApi& blas, const AttentionProblem& problem, int threads)
      : blas_(blas),
        problem_(problem),
        seq_(static_cast<std::size_t>(problem.seq)),
        keys_(static_cast<std::size_t>(problem.keys())),
        head_dim_(static_cast<std::size_t>(problem.head_dim)),
        stride_(static_cast<std::size_t>(problem.heads) * head_dim_),
        key_stride_(static_cast<std::size_t>(problem.key_heads()) * head_dim_),
        group_(static_cast<std::size_t>(problem.heads / problem.key_heads())),
        tasks_(static_cast<std::size_t>(problem.batch * problem.key_heads())),
        threads_(static_cast<std::size_t>(std::max(threads, 1))),
        parts_(tasks_ >= threads_ ? threads_ : 1),
        scale_(static_cast<float>(attention_score_scale(problem))) {}

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
        for (std::size_t task = part; task < tasks_; task += parts_) {
          if (problem_.backward) clear_key_gradients(operands, task);
          for (std::size_t head = task * group_; head < (task + 1) * group_; ++head) {
            if (problem_.backward) {
              backward(operands, head, scratch);
            } else {
              forward(operands, head, scratch);
            }
          }
        }
      }
    });
    blas_.set_num_threads(static_cast<int>(threads_));
  }

 private:
  std::size_t matrix() const { return std::min(kBlock, seq_) * keys_; }

  /// Of a head's first element in Q, O and their gradients.
  std::size_t offset(std::size_t head) const {
    const auto heads = static_cast<std::size_t>(problem_.heads);
    return head / heads * seq_ * stride_ + head % heads * head_dim_;
  }
  /// Of a task's first element in K, V and their gradients.
  std::size_t key_offset(std::size_t task) const {
    const auto heads = static_cast<std::size_t>(problem_.key_heads());
    return task / heads * keys_ * key_stride_ + task % heads * head_dim_;
  }

  KeyRange keys_of_query(std::size_t query) const {
    if (!problem_.causal) return {0, keys_};
    const std::int64_t end = static_cast<std::int64_t>(query) + problem_.diagonal() + 1;
    const std::int64_t begin =
        problem_.window == 0 ? 0 : std::max<std::int64_t>(end - problem_.window, 0);
    return {static_cast<std::size_t>(begin), std::min(static_cast<std::size_t>(end), keys_)};
  }

  Block block(std::size_t begin) const {
    const std::size_t rows = std::min(kBlock, seq_ - begin);
    const std::size_t first = keys_of_query(begin).begin;
    return {begin, rows, first, keys_of_query(begin + rows - 1).end - first};
  }

  /// The keys of a row as columns of its block's matrix.
  KeyRange columns_of_row(const Block& block, std::size_t row) const {
    const KeyRange keys = keys_of_query(block.begin + row);
    return {keys.begin - block.first_key, keys.end - block.first_key};
  }

  static void clear_outside(const KeyRange& columns, const Block& block, float* row) {
    std::fill(row, row + columns.begin, 0.f);
    std::fill(row + columns.end, row + block.keys, 0.f);
  }

  /// out[rows][keys] = a rows of the block times the block's keys of b, transposed.
  void multiply_keys(const Block& block, float alpha, const float* a, const float* b,
                     float* out) const {
    blas_.sgemm(kNoTrans, kTrans, block.rows, block.keys, head_dim_, alpha,
                a + block.begin * stride_, stride_, b + block.first_key * key_stride_, key_stride_,
                0, out, block.keys);
  }

  void forward(std::span<void* const> operands, std::size_t head, float* p) const {
    namespace at = attention_forward;
    const auto query_side = [&](std::size_t index) {
      return static_cast<float*>(operands[index]) + offset(head);
    };
    const auto key_side = [&](std::size_t index) {
      return static_cast<const float*>(operands[index]) + key_offset(head / group_);
    };
    float* lse = static_cast<float*>(operands[at::kLse]) + head * seq_;
    for (std::size_t begin = 0; begin < seq_; begin += kBlock) {
      const Block rows = block(begin);
      multiply_keys(rows, scale_, query_side(at::kQ), key_side(at::kK), p);
      for (std::size_t row = 0; row < rows.rows; ++row) {
        lse[begin + row] = softmax_row(rows, row, p + row * rows.keys);
      }
      blas_.sgemm(kNoTrans, kNoTrans, rows.rows, head_dim_, rows.keys, 1, p, rows.keys,
                  key_side(at::kV) + rows.first_key * key_stride_, key_stride_, 0,
                  query_side(at::kO) + begin * stride_, stride_);
    }
  }

  /// Returns the row's log-sum-exp.
  float softmax_row(const Block& block, std::size_t row, float* scores) const {
    const KeyRange columns = columns_of_row(block, row);
    const float largest = *std::max_element(scores + columns.begin, scores + columns.end);
    float sum = 0;
    for (std::size_t column = columns.begin; column < columns.end; ++column) {
      scores[column] = std::exp(scores[column] - largest);
      sum += scores[column];
    }
    const float factor = 1 / sum;
    for (std::size_t column = columns.begin; column < columns.end; ++column) {
      scores[column] *= factor;
    }
    clear_outside(columns, block, scores);
    return largest + std::log(sum);
  }

  void clear_key_gradients(std::span<void* const> operands, std::size_t task) const {
    namespace at = attention_backward;
    for (const std::size_t index : {at::kDK, at::kDV}) {
      float* gradient = static_cast<float*>(operands[index]) + key_offset(task);
      for (std::size_t key = 0; key < keys_; ++key) {
        std::fill_n(gradient + key * key_stride_, head_dim_, 0.f);
      }
    }
  }

  /// Writes dQ of a head, adds to the dK and dV of its keys.
  void backward(std::span<void* const> operands, std::size_t head, float* p) const {
    namespace at = attention_backward;
    const auto query_side = [&](std::size_t index) {
      return static_cast<float*>(operands[index]) + offset(head);
    };
    const auto key_side = [&](std::size_t index) {
      return static_cast<float*>(operands[index]) + key_offset(head / group_);
    };
    const float* lse = static_cast<const float*>(operands[at::kLse]) + head * seq_;
    float* ds = p + matrix();
    for (std::size_t begin = 0; begin < seq_; begin += kBlock) {
      const Block rows = block(begin);
      const std::size_t start = begin * stride_, first_key = rows.first_key * key_stride_;
      multiply_keys(rows, scale_, query_side(at::kQ), key_side(at::kK), p);
      multiply_keys(rows, 1, query_side(at::kDO), key_side(at::kV), ds);
      for (std::size_t row = 0; row < rows.rows; ++row) {
        const std::size_t at_row = start + row * stride_;
        const float delta = row_delta(query_side(at::kDO) + at_row, query_side(at::kO) + at_row);
        differentiate_row(rows, row, lse[begin + row], delta, p + row * rows.keys,
                          ds + row * rows.keys);
      }
      blas_.sgemm(kNoTrans, kNoTrans, rows.rows, head_dim_, rows.keys, scale_, ds, rows.keys,
                  key_side(at::kK) + first_key, key_stride_, 0, query_side(at::kDQ) + start,
                  stride_);
      blas_.sgemm(kTrans, kNoTrans, rows.keys, head_dim_, rows.rows, scale_, ds, rows.keys,
                  query_side(at::kQ) + start, stride_, 1, key_side(at::kDK) + first_key,
                  key_stride_);
      blas_.sgemm(kTrans, kNoTrans, rows.keys, head_dim_, rows.rows, 1, p, rows.keys,
                  query_side(at::kDO) + start, stride_, 1, key_side(at::kDV) + first_key,
                  key_stride_);
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
    const KeyRange columns = columns_of_row(block, row);
    for (std::size_t column = columns.begin; column < columns.end; ++column) {
      p[column] = std::exp(p[column] - lse);
      ds[column] = p[column] * (ds[column] - delta);
    }
    clear_outside(columns, block, p);
    clear_outside(columns, block, ds);
  }

  CblasApi& blas_;
  AttentionProblem problem_;
  std::size_t seq_, keys_, head_dim_;
  std::size_t stride_, key_stride_;  // from one position to the next, of either side
  std::size_t group_, tasks_;        // heads of a task; one task for each head of keys
  std::size_t threads_, parts_;
  float scale_;
};

Support supports(const DeviceInfo& device, const AttentionProblem& problem) {
  if (device.kind == DeviceKind::cpu) return attention_pass_support(problem);
  return Support::no("E_UNSUPPORTED_DEVICE", "runs on the cpu device only (--device cpu)");
}

std::unique_ptr<Plan> make_plan(Context& context, const AttentionProblem& problem) {
  return std::make_unique<CpuAttention>(context.libraries.cblas(), problem,
                                        context.device.info().sm_count);
}

}  // namespace

Provider<AttentionProblem> cpu_attention_provider() { return {"cpu", supports, make_plan}; }

}  // namespace gpubench
