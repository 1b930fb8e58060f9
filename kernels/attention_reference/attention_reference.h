// SPDX-License-Identifier: Apache-2.0
// Reference attention in double, independent of every provider: what outputs are compared with.
// Q, K, V, O, dO and their gradients are [batch][seq][heads][head_dim], lse is [batch][heads][seq];
// softmax scale 1 / sqrt(head_dim). Enough blocking for a few TFLOP/s, no more cleverness than
// that.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpubench/dtype.h"

namespace gpubench {

struct AttentionReferenceShape {
  std::int64_t batch = 1, heads = 1, seq = 1;
  std::int64_t head_dim = 64;  ///< at most kAttentionReferenceMaxHeadDim
  bool causal = false;
  Dtype dtype = Dtype::fp32;  ///< of the inputs: fp32, fp16 or bf16
};

constexpr std::int64_t kAttentionReferenceMaxHeadDim = 128;

/// Bytes of scratch for either pass: FP64 log-sum-exp and delta of each row.
std::size_t attention_reference_scratch_bytes(const AttentionReferenceShape& shape);

/// O = softmax(scale Q K^T) V, stored as `out_dtype` (fp32, fp16, bf16), and the natural
/// log-sum-exp of the scaled scores. Ordered in `stream` (a cudaStream_t).
void attention_reference_forward(void* stream, const AttentionReferenceShape& shape, const void* q,
                                 const void* k, const void* v, Dtype out_dtype, void* out,
                                 float* lse, void* scratch);

/// Gradients of sum(O * dO) in FP32. `out` is the O that the pass was given: delta is
/// rowsum(dO * O) with its rounding, as in every provider; the log-sum-exp is computed anew.
void attention_reference_backward(void* stream, const AttentionReferenceShape& shape, const void* q,
                                  const void* k, const void* v, const void* out, const void* d_out,
                                  float* dq, float* dk, float* dv, void* scratch);

}  // namespace gpubench
