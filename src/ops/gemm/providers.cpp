// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/providers.h"

#include <vector>

namespace gpubench {

std::span<const Provider<GemmProblem>> gemm_providers() {
  static const std::vector<Provider<GemmProblem>> providers {
#if GPUBENCH_HAS_CUDA
    {"cublaslt", cublaslt_gemm_supports, cublaslt_gemm_plan},
        {"own_sm90a", own_sm90a_gemm_supports, own_sm90a_gemm_plan},
#endif
        {"cpu", cpu_gemm_supports, cpu_gemm_plan},
  };
  return providers;
}

}  // namespace gpubench
