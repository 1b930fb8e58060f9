// SPDX-License-Identifier: Apache-2.0
// Self-attention, forward and backward: the problem, its operands and its providers.
//   prepare_attention(context, {.batch = 4, .heads = 16, .seq = 4096, .head_dim = 128}, "auto")
// Tensors are [batch][seq][heads][head_dim] (what PyTorch holds behind a transposed view), the
// softmax scale is 1 / sqrt(head_dim). Causal keeps key <= query.
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

struct AttentionProblem {
  std::int64_t batch = 1, heads = 1, seq = 1, head_dim = 64;
  Dtype dtype = Dtype::bf16;  ///< fp16 or bf16
  bool causal = false;
  bool backward = false;
};

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
/// Throws ConfigError where a size is not positive or overflows.
std::vector<Operand> attention_operands(const AttentionProblem& problem);

/// Best first.
std::span<const Provider<AttentionProblem>> attention_providers();

/// Bytes of device memory that prepare_attention takes, workspace of a library aside.
std::uint64_t attention_footprint(const DeviceInfo& device, const Conditions& conditions,
                                  const AttentionProblem& problem);

/// `impl`: a provider's name or "auto".
std::unique_ptr<Job> prepare_attention(Context& context, const AttentionProblem& problem,
                                       std::string_view impl);

}  // namespace gpubench
