// SPDX-License-Identifier: Apache-2.0
// Reference results of attention in double, independent of every provider, on either kind of
// device.
#pragma once

#include <memory>
#include <span>

#include "ops/attention/attention.h"

namespace gpubench {

/// Reference of one problem on one device. Pointers are to the device's memory, operands in
/// attention_operands() order and stored as operands are on that device.
class AttentionReference {
 public:
  virtual ~AttentionReference() = default;
  /// o as an operand is stored (rounded to the problem's type), and lse, from q, k, v: what a
  /// backward pass takes.
  virtual void forward_state(Stream& stream, const void* q, const void* k, const void* v, void* o,
                             float* lse) = 0;
  /// The FP32 outputs of the problem's pass, one array per output.
  virtual void outputs(Stream& stream, std::span<void* const> operands,
                       std::span<float* const> references) = 0;
};

/// Allocates its scratch at once. Throws DeviceError in a build without CUDA for a GPU.
std::unique_ptr<AttentionReference> make_attention_reference(Device& device,
                                                             const AttentionProblem& problem);
std::unique_ptr<AttentionReference> make_attention_reference_cuda(Device& device,
                                                                  const AttentionProblem& problem);

/// The reference on the host over FP32 arrays, threads over batch and heads. Any head_dim.
void attention_forward_host(const AttentionProblem& problem, const float* q, const float* k,
                            const float* v, float* o, float* lse);
/// delta is rowsum(dO * O) of the O given; the log-sum-exp is computed anew.
void attention_backward_host(const AttentionProblem& problem, const float* q, const float* k,
                             const float* v, const float* o, const float* d_o, float* dq, float* dk,
                             float* dv);

}  // namespace gpubench
