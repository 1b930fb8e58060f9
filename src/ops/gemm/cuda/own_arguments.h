// SPDX-License-Identifier: Apache-2.0
// A GemmProblem as our own kernels are told of it.
#pragma once

#include <optional>

#include "kernels/gemm/gemm.h"
#include "ops/gemm/problem.h"

namespace gpubench {

/// The kernels' type for `dtype`; none for FP64 and FP32.
std::optional<GemmType> own_gemm_type(Dtype dtype);

/// All but the pointers. The type has to be one that own_gemm_type() knows.
GemmArguments own_gemm_arguments(const GemmProblem& problem);

/// The same with the pointers of a set of operands and a workspace.
GemmArguments with_operands(GemmArguments arguments, const GemmPointers& operands, void* workspace);

}  // namespace gpubench
