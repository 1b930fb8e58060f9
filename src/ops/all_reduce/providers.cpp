// SPDX-License-Identifier: Apache-2.0
#include "ops/all_reduce/providers.h"

#include <vector>

namespace gpubench {

std::span<const Provider<AllReduceProblem>> all_reduce_providers() {
  static const std::vector<Provider<AllReduceProblem>> providers {
#if GPUBENCH_HAS_CUDA
    nccl_all_reduce_provider(),
#endif
        cpu_all_reduce_provider(),
  };
  return providers;
}

}  // namespace gpubench
