// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention_reference/attention_reference.h"
#include "ops/attention/reference.h"

namespace gpubench {
namespace {

AttentionReferenceShape shape_of(const AttentionProblem& problem) {
  return {.batch = problem.batch,
          .heads = problem.heads,
          .kv_heads = problem.key_heads(),
          .seq = problem.seq,
          .seq_kv = problem.keys(),
          .head_dim = problem.head_dim,
          .scale = attention_score_scale(problem),
          .causal = problem.causal,
          .diagonal = problem.diagonal(),
          .window = problem.window,
          .dtype = problem.dtype};
}

class CudaReference : public AttentionReference {
 public:
  CudaReference(Device& device, const AttentionProblem& problem)
      : problem_(problem), scratch_(device, attention_reference_scratch_bytes(shape_of(problem))) {}

  void forward_state(Stream& stream, const void* q, const void* k, const void* v, void* o,
                     float* lse) override {
    attention_reference_forward(stream.native(), shape_of(problem_), q, k, v, problem_.dtype, o,
                                lse, scratch_.data());
  }

  void outputs(Stream& stream, std::span<void* const> operands,
               std::span<float* const> references) override {
    if (problem_.backward) {
      namespace at = attention_backward;
      attention_reference_backward(stream.native(), shape_of(problem_), operands[at::kQ],
                                   operands[at::kK], operands[at::kV], operands[at::kO],
                                   operands[at::kDO], references[0], references[1], references[2],
                                   scratch_.data());
    } else {
      namespace at = attention_forward;
      attention_reference_forward(stream.native(), shape_of(problem_), operands[at::kQ],
                                  operands[at::kK], operands[at::kV], Dtype::fp32, references[0],
                                  references[1], scratch_.data());
    }
  }

 private:
  AttentionProblem problem_;
  Buffer scratch_;
};

}  // namespace

std::unique_ptr<AttentionReference> make_attention_reference_cuda(Device& device,
                                                                  const AttentionProblem& problem) {
  return std::make_unique<CudaReference>(device, problem);
}

}  // namespace gpubench
