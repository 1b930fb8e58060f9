// SPDX-License-Identifier: Apache-2.0
// Reference attention in double, independent of every provider: what outputs are compared with.
// Q, O, dO and dQ are [batch][seq][heads][head_dim], K, V, dK and dV [batch][seq_kv][kv_heads]
// [head_dim], lse is [batch][heads][seq]. Enough blocking for a few TFLOP/s, no more cleverness
// than that.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpubench/dtype.h"

namespace gpubench {

struct AttentionReferenceShape {
  std::int64_t batch = 1, heads = 1, kv_heads = 1;  ///< heads is a multiple of kv_heads
  std::int64_t seq = 1, seq_kv = 1;                 ///< queries and keys
  std::int64_t head_dim = 64;
  double scale = 1;  ///< of the scores, before the softmax
  bool causal = false;
  std::int64_t diagonal = 0;  ///< causal: query i sees keys up to i + diagonal
  std::int64_t window = 0;    ///< causal: this many of them, the last; 0: all
  Dtype dtype = Dtype::fp32;  ///< of the inputs: fp32, fp16, bf16 or fp8_e4m3
};

/// Bytes of scratch for either pass: FP64 log-sum-exp and delta of each row.
std::size_t attention_reference_scratch_bytes(const AttentionReferenceShape& shape);

/// O = softmax(scale Q K^T) V, stored as `out_dtype` (fp32, fp16, bf16), and the natural
/// log-sum-exp of the scaled scores. Every query must see a key. Ordered in `stream` (a
/// cudaStream_t).
void attention_reference_forward(void* stream, const AttentionReferenceShape& shape, const void* q,
                                 const void* k, const void* v, Dtype out_dtype, void* out,
                                 float* lse, void* scratch);

/// Gradients of sum(O * dO) in FP32. `out` is the O that the pass was given: delta is
/// rowsum(dO * O) with its rounding, as in every provider; the log-sum-exp is computed anew.
void attention_reference_backward(void* stream, const AttentionReferenceShape& shape, const void* q,
                                  const void* k, const void* v, const void* out, const void* d_out,
                                  float* dq, float* dk, float* dv, void* scratch);

}  // namespace gpubench
