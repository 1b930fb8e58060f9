// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/providers.h"

#include <vector>

namespace gpubench {

std::span<const Provider<ConvProblem>> conv_providers() {
  static const std::vector<Provider<ConvProblem>> providers {
#if GPUBENCH_HAS_CUDNN
    cudnn_conv_provider(),
#endif
        cpu_conv_provider(),
  };
  return providers;
}

}  // namespace gpubench
