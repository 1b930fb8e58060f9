// SPDX-License-Identifier: Apache-2.0
// Provider `cpu`: FP32 matrix products of the CPU math library with a softmax between them.
#pragma once

#include "ops/attention/attention.h"

namespace gpubench {

Provider<AttentionProblem> cpu_attention_provider();

}  // namespace gpubench
