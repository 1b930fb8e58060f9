// SPDX-License-Identifier: Apache-2.0
// GEMM checks on a CUDA device, by our own kernels.
#include "ops/gemm/reference.h"

namespace gpubench {
namespace {

void reference(Stream& stream, const GemmReference& problem, float* out, float* aux) {
  launch_gemm_reference(stream.native(), problem, out, aux);
}

void wide_reference(Stream& stream, const GemmReference& problem, double* out, double* aux) {
  launch_gemm_reference(stream.native(), problem, out, aux);
}

void projection(Stream& stream, const GemmReference& problem, const void* c, Dtype c_dtype,
                std::uint64_t seed, double* scratch, double* projected, double* wanted) {
  launch_gemm_projection(stream.native(), problem, c, c_dtype, seed, scratch, projected, wanted);
}

void samples(Stream& stream, const GemmReference& problem, const void* c, Dtype c_dtype,
             std::uint64_t seed, double* sampled, double* wanted) {
  launch_gemm_samples(stream.native(), problem, c, c_dtype, seed, sampled, wanted);
}

}  // namespace

GemmCheckBackend cuda_gemm_checks() { return {reference, wide_reference, projection, samples}; }

}  // namespace gpubench
