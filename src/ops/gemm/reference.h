// SPDX-License-Identifier: Apache-2.0
// Verification of GEMM results in double or better, by code that no provider shares: every element,
// or for a product too large for that a projection of every element and one sample per tile.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/check/gemm_reference.h"
#include "ops/gemm/problem.h"
#include "ops/support/op_job.h"

namespace gpubench {

/// One of the three functions is set.
struct GemmVerification {
  ReferenceFn reference = {};
  WideReferenceFn wide_reference = {};  ///< for FP64 and INT8
  VerifySetFn verify_set = {};
  std::string name;  ///< for Check.reference
};

/// Makes what checks the problem on the device; `full_check_flops` is the largest product of which
/// every element is computed (a GELU epilogue always is: a projection can't see through it).
GemmVerification gemm_verification(Context& context, const GemmProblem& problem,
                                   double full_check_flops);

/// Largest product that is checked in full in a run: half a second on an H200, a few on two cores.
/// FP64 is summed in twice its precision, which takes ten times as long.
double default_full_check_flops(DeviceKind kind, Dtype dtype);
bool gemm_checks_every_element(const GemmProblem& problem, double full_check_flops);
/// Device memory that gemm_verification() allocates, beside the references of the OpJob.
std::uint64_t gemm_verification_bytes(const GemmProblem& problem, double full_check_flops);

/// The checks of kernels/check/gemm_reference.h on one kind of device; `dtype`s are storage types,
/// `aux` is nullptr where the epilogue has none.
struct GemmCheckBackend {
  void (*reference)(Stream& stream, const GemmReference& problem, float* out, float* aux);
  void (*wide_reference)(Stream& stream, const GemmReference& problem, double* out, double* aux);
  void (*projection)(Stream& stream, const GemmReference& problem, const void* c, Dtype c_dtype,
                     std::uint64_t seed, double* scratch, double* projected, double* reference);
  void (*samples)(Stream& stream, const GemmReference& problem, const void* c, Dtype c_dtype,
                  std::uint64_t seed, double* sampled, double* reference);
};

GemmCheckBackend cpu_gemm_checks();
GemmCheckBackend cuda_gemm_checks();  ///< only in builds with CUDA

}  // namespace gpubench
