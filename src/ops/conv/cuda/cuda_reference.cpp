// SPDX-License-Identifier: Apache-2.0
// Convolution checks on a CUDA device, by our own kernels.
#include "ops/conv/reference.h"

namespace gpubench {
namespace {

void reference(Stream& stream, const ConvReference& problem, float* out, void* scratch) {
  launch_conv_reference(stream.native(), problem, out, scratch);
}

void projection(Stream& stream, const ConvProjection& projection, void* out, Dtype out_dtype) {
  launch_conv_projection(stream.native(), projection, out, out_dtype);
}

void samples(Stream& stream, const ConvReference& problem, const void* out, Dtype out_dtype,
             std::uint64_t seed, float* sampled, float* wanted) {
  launch_conv_samples(stream.native(), problem, out, out_dtype, seed, sampled, wanted);
}

}  // namespace

ConvCheckBackend cuda_conv_checks() { return {reference, projection, samples}; }

}  // namespace gpubench
