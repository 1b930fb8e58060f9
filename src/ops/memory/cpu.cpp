// SPDX-License-Identifier: Apache-2.0
// Memory kernels of the cpu device: plain loops that the compiler vectorises, one part per hardware
// thread.
#include <algorithm>
#include <cstring>

#include "ops/memory/providers.h"
#include "ops/support/parallel.h"
#include "ops/support/sum.h"

namespace gpubench {
namespace {

constexpr std::size_t kGrain = 1 << 16;  // below this a thread costs more than it saves

void run_elements(const StreamArguments& arguments, std::size_t begin, std::size_t end) {
  const float *a = arguments.a, *b = arguments.b;
  float* out = arguments.out;
  const float scalar = arguments.scalar;
  if (arguments.kernel == StreamKernel::copy) {
    std::memcpy(out + begin, a + begin, (end - begin) * sizeof(float));
  } else if (arguments.kernel == StreamKernel::scale) {
    for (std::size_t i = begin; i < end; ++i) out[i] = scalar * a[i];
  } else {
    for (std::size_t i = begin; i < end; ++i) out[i] = a[i] + scalar * b[i];
  }
}

class CpuMemoryPlan : public Plan {
 public:
  explicit CpuMemoryPlan(const MemoryProblem& problem) : problem_(problem) {}
  std::size_t workspace_bytes() const override { return 0; }
  std::string algorithm() const override { return "loops"; }

  void run(Stream&, std::span<void* const> operands, void*) override {
    const StreamArguments arguments = stream_arguments(problem_, operands);
    if (problem_.kernel != StreamKernel::read) {
      parallel_for(problem_.count, kGrain, [&](std::size_t begin, std::size_t end) {
        run_elements(arguments, begin, end);
      });
      return;
    }
    parallel_for(output_count(problem_), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t chunk = begin; chunk < end; ++chunk) {
        const std::size_t first = chunk * kReadChunk;
        const std::size_t count = std::min<std::size_t>(kReadChunk, problem_.count - first);
        arguments.out[chunk] = sum_of(arguments.a + first, count);
      }
    });
  }

 private:
  MemoryProblem problem_;
};

void reference_elements(const StreamArguments& arguments, std::uint64_t begin, std::uint64_t end) {
  const auto scalar = static_cast<double>(arguments.scalar);
  double chunk_sum = 0;
  for (std::uint64_t i = begin; i < end; ++i) {
    const auto a = static_cast<double>(arguments.a[i]);
    switch (arguments.kernel) {
      case StreamKernel::copy:
        arguments.out[i] = arguments.a[i];
        break;
      case StreamKernel::scale:
        arguments.out[i] = static_cast<float>(scalar * a);
        break;
      case StreamKernel::triad:
        arguments.out[i] = static_cast<float>(a + scalar * static_cast<double>(arguments.b[i]));
        break;
      case StreamKernel::read:
        chunk_sum = i % kReadChunk == 0 ? a : chunk_sum + a;
        arguments.out[i / kReadChunk] = static_cast<float>(chunk_sum);
        break;
    }
  }
}

}  // namespace

Support cpu_memory_supports(const DeviceInfo& device, const MemoryProblem&) {
  if (device.kind != DeviceKind::cpu) {
    return Support::no("E_UNSUPPORTED_ARCH", "computes on the cpu device only (--device cpu)");
  }
  return Support::yes();
}

std::unique_ptr<Plan> cpu_memory_plan(Context&, const MemoryProblem& problem) {
  return std::make_unique<CpuMemoryPlan>(problem);
}

void cpu_memory_reference(const StreamArguments& arguments) {
  // Whole chunks, so that no sum of `read` is divided.
  parallel_for((arguments.count + kReadChunk - 1) / kReadChunk, kGrain / kReadChunk + 1,
               [&](std::size_t begin, std::size_t end) {
                 reference_elements(arguments, begin * kReadChunk,
                                    std::min<std::uint64_t>(end * kReadChunk, arguments.count));
               });
}

}  // namespace gpubench
