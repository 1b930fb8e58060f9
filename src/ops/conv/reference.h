// SPDX-License-Identifier: Apache-2.0
// Verification of convolutions in double, by code that no provider shares: every element, or for
// work too large for that a projection of every element and one sample per tile.
//
// The projection sums blocks of 64 channels with random weights. What the sums should be is again a
// convolution, of one 64th of the channels: forward y v = conv(x, v w), summed over k; dgrad
// dx v = dgrad(dy, w v), over c; wgrad v dw = wgrad(x, dy v), over k. An element that is wrong, or
// not written, or not finite shows in its block's sum.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/conv_reference/conv_reference.h"
#include "ops/conv/problem.h"
#include "ops/support/op_job.h"

namespace gpubench {

/// One of the two functions is set.
struct ConvVerification {
  ReferenceFn reference = {};
  VerifySetFn verify_set = {};
  std::string name;  ///< for Check.reference
};

/// Makes what checks the problem on the device; `full_check_flops` is the most work of which every
/// element is computed.
ConvVerification conv_verification(Context& context, const ConvProblem& problem,
                                   double full_check_flops);

/// Largest work that is checked in full in a run: half a second on an H200, a few on two cores.
double default_full_conv_flops(DeviceKind kind);
bool conv_checks_every_element(const ConvProblem& problem, double full_check_flops);
/// Device memory that conv_verification() allocates, beside the references of the OpJob.
std::uint64_t conv_verification_bytes(DeviceKind kind, const ConvProblem& problem,
                                      double full_check_flops);

/// The functions of kernels/conv_reference/conv_reference.h on one kind of device; `dtype`s are
/// storage types. On the cpu device the first input and outputs are FP32, the second FP32 or FP64.
struct ConvCheckBackend {
  void (*reference)(Stream& stream, const ConvReference& problem, float* out, void* scratch);
  void (*projection)(Stream& stream, const ConvProjection& projection, void* out, Dtype out_dtype);
  void (*samples)(Stream& stream, const ConvReference& problem, const void* out, Dtype out_dtype,
                  std::uint64_t seed, float* sampled, float* wanted);
};

ConvCheckBackend cpu_conv_checks();
ConvCheckBackend cuda_conv_checks();  ///< only in builds with CUDA

}  // namespace gpubench
