// SPDX-License-Identifier: Apache-2.0
// Every way to compute an all-reduce, best first.
#pragma once

#include <span>

#include "gpubench/provider.h"
#include "ops/all_reduce/problem.h"

namespace gpubench {

std::span<const Provider<AllReduceProblem>> all_reduce_providers();

/// NCCL, with a communicator of the context's world.
Provider<AllReduceProblem> nccl_all_reduce_provider();

/// Ranks that are threads of this process reduce a share each, in host memory.
Provider<AllReduceProblem> cpu_all_reduce_provider();

}  // namespace gpubench
