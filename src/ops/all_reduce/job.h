// SPDX-License-Identifier: Apache-2.0
// The job of one rank of an all-reduce. All ranks of the context's world make and run it alike.
#pragma once

#include <memory>
#include <string>

#include "gpubench/provider.h"
#include "gpubench/workload.h"
#include "ops/all_reduce/problem.h"

namespace gpubench {

/// By the provider that `impl` selects. Throws Unsupported for an in-place all-reduce of one rank,
/// which does nothing.
std::unique_ptr<Job> make_all_reduce_job(Context& context, const AllReduceProblem& problem,
                                         const std::string& impl);
/// By this provider.
std::unique_ptr<Job> make_all_reduce_job(Context& context, const AllReduceProblem& problem,
                                         const Provider<AllReduceProblem>& provider);

/// Device memory the job takes; what NCCL allocates for itself is not in it.
std::uint64_t all_reduce_footprint(const DeviceInfo& device, const Conditions& conditions,
                                   const AllReduceProblem& problem);

}  // namespace gpubench
