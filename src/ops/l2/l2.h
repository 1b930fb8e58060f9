// SPDX-License-Identifier: Apache-2.0
// Bandwidth of the cache that all SMs share (on the cpu device: all cores): the problem, its
// providers and its job. Operands: read takes (a, sums), copy takes (a, copy, sums).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gpubench/provider.h"
#include "kernels/l2/cache.h"
#include "ops/support/operands.h"

namespace gpubench {

struct CacheProblem {
  bool copies = false;
  std::uint64_t count = 0;  ///< elements of one array
  std::uint64_t passes = 1;
};

/// Of a working set of `bytes`, 0 for a quarter of the device's cache, in whole elements; none
/// where the cache's size is not known. `passes` 0: so many that starting the kernel does not
/// count.
CacheProblem cache_problem(const DeviceInfo& device, const std::string& kernel, std::uint64_t bytes,
                           std::uint64_t passes);
std::vector<Operand> cache_operands(const CacheProblem& problem);
CacheArguments cache_arguments(const CacheProblem& problem, std::span<void* const> operands);

/// Throws Unsupported where there is no working set.
std::unique_ptr<Job> make_cache_job(Context& context, const CacheProblem& problem,
                                    const std::string& impl);
std::uint64_t cache_footprint(const DeviceInfo& device, const Conditions& conditions,
                              const CacheProblem& problem);

/// Own CUDA kernel.
Support own_cache_supports(const DeviceInfo& device, const CacheProblem& problem);
std::unique_ptr<Plan> own_cache_plan(Context& context, const CacheProblem& problem);
void cuda_cache_reference(Stream& stream, const CacheArguments& arguments);

/// Plain loops, each thread over the whole working set.
Support cpu_cache_supports(const DeviceInfo& device, const CacheProblem& problem);
std::unique_ptr<Plan> cpu_cache_plan(Context& context, const CacheProblem& problem);
void cpu_cache_reference(const CacheArguments& arguments);

}  // namespace gpubench
