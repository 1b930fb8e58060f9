// SPDX-License-Identifier: Apache-2.0
#include "ops/memory/providers.h"

#include <vector>

#include "gpubench/error.h"

namespace gpubench {

StreamKernel parse_stream_kernel(const std::string& name) {
  if (name == "copy") return StreamKernel::copy;
  if (name == "scale") return StreamKernel::scale;
  if (name == "triad") return StreamKernel::triad;
  if (name == "read") return StreamKernel::read;
  throw ConfigError("unknown memory kernel '" + name + "'; there are: copy, scale, triad, read");
}

std::uint64_t output_count(const MemoryProblem& problem) {
  if (problem.kernel != StreamKernel::read) return problem.count;
  return (problem.count + kReadChunk - 1) / kReadChunk;
}

StreamArguments stream_arguments(const MemoryProblem& problem, std::span<void* const> operands) {
  StreamArguments arguments;
  arguments.kernel = problem.kernel;
  arguments.a = static_cast<const float*>(operands.front());
  if (problem.kernel == StreamKernel::triad) arguments.b = static_cast<const float*>(operands[1]);
  arguments.out = static_cast<float*>(operands.back());
  arguments.count = problem.count;
  arguments.scalar = problem.scalar;
  arguments.variant = problem.variant;
  return arguments;
}

std::span<const Provider<MemoryProblem>> memory_providers() {
  static const std::vector<Provider<MemoryProblem>> providers {
#if GPUBENCH_HAS_CUDA
    {"own", own_memory_supports, own_memory_plan},
#endif
        {"cpu", cpu_memory_supports, cpu_memory_plan},
  };
  return providers;
}

void memory_reference(DeviceKind kind, [[maybe_unused]] Stream& stream,
                      const StreamArguments& arguments) {
#if GPUBENCH_HAS_CUDA
  if (kind == DeviceKind::cuda) return cuda_memory_reference(stream, arguments);
#endif
  if (kind == DeviceKind::cpu) return cpu_memory_reference(arguments);
  throw DeviceError("E_NO_CUDA",
                    "this build has no CUDA: build with a CUDA toolkit, or --device cpu");
}

}  // namespace gpubench
