// SPDX-License-Identifier: Apache-2.0
// Every way to compute a GEMM, best first.
#pragma once

#include <memory>
#include <span>

#include "gpubench/provider.h"
#include "ops/gemm/problem.h"

namespace gpubench {

std::span<const Provider<GemmProblem>> gemm_providers();

/// cuBLASLt: the first heuristic, or with problem.tune the fastest of its candidates.
Support cublaslt_gemm_supports(const DeviceInfo& device, const GemmProblem& problem);
std::unique_ptr<Plan> cublaslt_gemm_plan(Context& context, const GemmProblem& problem);

/// Our own kernels of kernels/gemm: the configuration that their heuristic names first, or with
/// problem.tune the fastest. In builds with CUDA alone.
Support own_sm90a_gemm_supports(const DeviceInfo& device, const GemmProblem& problem);
std::unique_ptr<Plan> own_sm90a_gemm_plan(Context& context, const GemmProblem& problem);
/// What the plan's workspace may take beyond kMostGemmWorkspace: copies of unaligned operands.
std::uint64_t own_sm90a_gemm_copy_bytes(const GemmProblem& problem);

/// The CPU math library: FP64 in FP64, every other type in FP32 on rounded operands, then the
/// epilogue.
Support cpu_gemm_supports(const DeviceInfo& device, const GemmProblem& problem);
std::unique_ptr<Plan> cpu_gemm_plan(Context& context, const GemmProblem& problem);
std::uint64_t cpu_gemm_workspace_bytes(const GemmProblem& problem);

}  // namespace gpubench
