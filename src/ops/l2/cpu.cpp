// SPDX-License-Identifier: Apache-2.0
// Passes over a working set on the host processor. The passes are dealt out to the threads, so that
// each reads the whole set: the caches that a core has for itself are too small for it.
#include <algorithm>
#include <cstring>

#include "ops/l2/l2.h"
#include "ops/support/parallel.h"
#include "ops/support/sum.h"

namespace gpubench {
namespace {

constexpr std::size_t kCopyGrain = 64;  // chunks

class CpuCachePlan : public Plan {
 public:
  explicit CpuCachePlan(const CacheProblem& problem) : problem_(problem) {}
  std::size_t workspace_bytes() const override { return 0; }
  std::string algorithm() const override { return "loops"; }

  void run(Stream&, std::span<void* const> operands, void*) override {
    const CacheArguments arguments = cache_arguments(problem_, operands);
    const std::size_t chunks = cache_chunks(arguments.count);
    // Copies come in one pass, of which every thread takes a part.
    const std::size_t grain = problem_.copies ? kCopyGrain : chunks;
    parallel_for(arguments.passes * chunks, grain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t item = begin; item < end; ++item) {
        const std::size_t first = item % chunks * kCacheChunk;
        const std::size_t count = std::min<std::size_t>(kCacheChunk, arguments.count - first);
        arguments.sums[item] = sum_of(arguments.a + first, count);
        if (arguments.copy != nullptr) {
          std::memcpy(arguments.copy + first, arguments.a + first, count * sizeof(float));
        }
      }
    });
  }

 private:
  CacheProblem problem_;
};

}  // namespace

Support cpu_cache_supports(const DeviceInfo& device, const CacheProblem& problem) {
  if (device.kind != DeviceKind::cpu) {
    return Support::no("E_UNSUPPORTED_ARCH", "computes on the cpu device only (--device cpu)");
  }
  if (problem.copies && problem.passes > 1) {
    // On a GPU two passes may store the same value at once; in C++ that would be a data race.
    return Support::no("E_UNSUPPORTED_MODE", "the cpu device copies in one pass only (passes=1)");
  }
  return Support::yes();
}

std::unique_ptr<Plan> cpu_cache_plan(Context&, const CacheProblem& problem) {
  return std::make_unique<CpuCachePlan>(problem);
}

void cpu_cache_reference(const CacheArguments& arguments) {
  const std::uint64_t chunks = cache_chunks(arguments.count);
  for (std::uint64_t chunk = 0; chunk < chunks; ++chunk) {
    double sum = 0;
    for (std::uint64_t i = chunk * kCacheChunk;
         i < std::min((chunk + 1) * kCacheChunk, arguments.count); ++i) {
      sum += static_cast<double>(arguments.a[i]);
      if (arguments.copy != nullptr) arguments.copy[i] = arguments.a[i];
    }
    for (std::uint64_t pass = 0; pass < arguments.passes; ++pass) {
      arguments.sums[pass * chunks + chunk] = static_cast<float>(sum);
    }
  }
}

}  // namespace gpubench
