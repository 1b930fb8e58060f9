// SPDX-License-Identifier: Apache-2.0
// Memory bandwidth kernels over FP32 arrays: the problem, its providers and its reference.
// Operands: copy, scale and read take (a, out), triad takes (a, b, out).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "gpubench/provider.h"
#include "kernels/memory/stream.h"

namespace gpubench {

struct MemoryProblem {
  StreamKernel kernel = StreamKernel::copy;
  std::uint64_t count = 0;  ///< elements of one array
  float scalar = 2;         ///< factor of scale and triad
  int variant = 0;          ///< of the own kernels, see describe_stream_variant()
};

/// Throws ConfigError for a name that is no kernel.
StreamKernel parse_stream_kernel(const std::string& name);
/// Elements of `out`: as many as `a` has, or one for each chunk that `read` reduces.
std::uint64_t output_count(const MemoryProblem& problem);
/// The pointers of a set of operands as the kernels take them.
StreamArguments stream_arguments(const MemoryProblem& problem, std::span<void* const> operands);

std::span<const Provider<MemoryProblem>> memory_providers();

/// Own CUDA kernels.
Support own_memory_supports(const DeviceInfo& device, const MemoryProblem& problem);
std::unique_ptr<Plan> own_memory_plan(Context& context, const MemoryProblem& problem);

/// Plain loops over the hardware threads.
Support cpu_memory_supports(const DeviceInfo& device, const MemoryProblem& problem);
std::unique_ptr<Plan> cpu_memory_plan(Context& context, const MemoryProblem& problem);

/// The right outputs, by other code than the providers'.
void memory_reference(DeviceKind kind, Stream& stream, const StreamArguments& arguments);
void cuda_memory_reference(Stream& stream, const StreamArguments& arguments);  ///< with CUDA only
void cpu_memory_reference(const StreamArguments& arguments);

}  // namespace gpubench
