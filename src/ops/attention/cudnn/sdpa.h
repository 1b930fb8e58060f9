// SPDX-License-Identifier: Apache-2.0
// Provider `cudnn`: cuDNN's fused scaled dot product attention, forward and backward.
#pragma once

#include "ops/attention/attention.h"

namespace gpubench {

Provider<AttentionProblem> cudnn_attention_provider();

}  // namespace gpubench
