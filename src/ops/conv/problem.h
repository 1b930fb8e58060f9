// SPDX-License-Identifier: Apache-2.0
// The 2-D convolution (cross-correlation, as in neural networks) that every provider computes, and
// its two gradients. Activations are NHWC, filters KRSC. Operands in this order:
//   forward x, w -> y    dgrad dy, w -> dx    wgrad x, dy -> dw
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpubench/dtype.h"
#include "kernels/conv_reference/conv_reference.h"
#include "ops/support/operands.h"

namespace gpubench {

struct ConvProblem {
  ConvPass pass = ConvPass::forward;
  Dtype dtype = Dtype::fp16;  ///< fp16, bf16, tf32 or fp32, of all three operands
  ConvShape shape = {};
  bool tune = false;  ///< time the library's candidates instead of taking its first
};

/// Positions in the operand lists.
namespace conv_operand {
enum Index : std::size_t { kFirst, kSecond, kOutput, kCount };
}

/// "forward", "dgrad" or "wgrad". Throws ConfigError.
ConvPass parse_conv_pass(const std::string& text);

/// Throws ConfigError, with the parameter's name, where a size is not positive or overflows, the
/// groups don't divide the channels, or the filter leaves no output.
std::vector<Operand> conv_operands(const ConvProblem& problem);

/// Outputs are stored as their inputs are; TF32 is a way to compute on FP32.
Dtype conv_output_dtype(Dtype dtype);

/// Bound on |out - ref| / (|ref| + rms(ref)) for a correct provider.
double conv_tolerance(const ConvProblem& problem);

}  // namespace gpubench
