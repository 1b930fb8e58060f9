// SPDX-License-Identifier: Apache-2.0
// Attention, forward and backward: the problem, its operands and its providers.
//   prepare_attention(context, {.batch = 4, .heads = 16, .seq = 4096, .head_dim = 128}, "auto")
// Q, O and their gradients are [batch][seq][heads][head_dim], K and V [batch][seq_kv][kv_heads]
// [head_dim] (what PyTorch holds behind a transposed view); the softmax scale is
// 1 / sqrt(head_dim). Causal: query i sees the keys up to i + diagonal().
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "gpubench/provider.h"
#include "gpubench/workload.h"
#include "ops/support/op_job.h"

namespace gpubench {

/// Which corner of the score matrix the diagonal of a causal mask passes through, where there are
/// not as many keys as queries. top_left: query 0 sees key 0 only. bottom_right: the last query
/// sees every key (the queries are the last of the sequence that the keys come from).
enum class CausalAlign { top_left, bottom_right };

struct AttentionProblem {
  std::int64_t batch = 1, heads = 1, seq = 1, head_dim = 64;
  Dtype dtype = Dtype::bf16;  ///< fp16, bf16; fp8_e4m3: forward only
  bool causal = false;
  bool backward = false;
  std::int64_t kv_heads = 0;  ///< a divisor of heads, which share them in runs; 0: heads
  std::int64_t seq_kv = 0;    ///< 0: seq
  CausalAlign align = CausalAlign::top_left;
  std::int64_t window = 0;  ///< causal: a query sees this many keys at most, the last; 0: all

  std::int64_t key_heads() const { return kv_heads == 0 ? heads : kv_heads; }
  std::int64_t keys() const { return seq_kv == 0 ? seq : seq_kv; }
  std::int64_t diagonal() const { return align == CausalAlign::bottom_right ? keys() - seq : 0; }
};

/// Standard deviation of Q, K, V as they are stored. FP8: 64, as in ops/gemm, so that E4M3's range
/// is filled and nothing saturates; the real values are the stored ones divided by it. 1 elsewhere.
double attention_operand_scale(Dtype dtype);

/// What the product of a stored query and a stored key is multiplied by before the softmax:
/// 1 / sqrt(head_dim), and for FP8 both scales undone. O is stored with the scale of V, so that
/// O = P V holds between stored values.
double attention_score_scale(const AttentionProblem& problem);

/// Positions in the operand lists.
namespace attention_forward {
enum Index : std::size_t { kQ, kK, kV, kO, kLse, kCount };
}
namespace attention_backward {
enum Index : std::size_t { kQ, kK, kV, kO, kDO, kLse, kDQ, kDK, kDV, kCount };
}

/// Forward: q, k, v -> o, lse. Backward: q, k, v, o, do, lse -> dq, dk, dv. The log-sum-exp (FP32,
/// natural, [batch][heads][seq]) is an output of the forward pass because training needs it:
/// PyTorch writes it too wherever a gradient is wanted.
/// Throws ConfigError where a size is not positive or overflows, heads is not a multiple of
/// kv_heads, a mask's parameters are given without causal, or a query would see no key (its softmax
/// would be of nothing).
std::vector<Operand> attention_operands(const AttentionProblem& problem);

/// What no provider does: FP8 gradients, which would need an FP8 type and scales of their own.
Support attention_pass_support(const AttentionProblem& problem);

/// Best first.
std::span<const Provider<AttentionProblem>> attention_providers();

/// Bytes of device memory that prepare_attention takes, workspace of a library aside.
std::uint64_t attention_footprint(const DeviceInfo& device, const Conditions& conditions,
                                  const AttentionProblem& problem);

/// `impl`: a provider's name or "auto".
std::unique_ptr<Job> prepare_attention(Context& context, const AttentionProblem& problem,
                                       std::string_view impl);

}  // namespace gpubench
