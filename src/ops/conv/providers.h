// SPDX-License-Identifier: Apache-2.0
// Every way to compute a convolution, best first.
#pragma once

#include <span>

#include "gpubench/provider.h"
#include "ops/conv/problem.h"

namespace gpubench {

/// What a provider may take; libraries ask for that much only where a pass needs its operands
/// transposed or its partial sums kept.
constexpr std::uint64_t kMostConvWorkspace = 1ull << 30;

std::span<const Provider<ConvProblem>> conv_providers();

/// cuDNN's graph interface: its first plan, or with problem.tune the fastest of its candidates.
Provider<ConvProblem> cudnn_conv_provider();

/// The CPU math library's FP32 product on unfolded images.
Provider<ConvProblem> cpu_conv_provider();

}  // namespace gpubench
