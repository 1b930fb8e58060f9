// SPDX-License-Identifier: Apache-2.0
#include "ops/l2/l2.h"

#include <algorithm>

#include "core/formulas.h"
#include "gpubench/error.h"
#include "ops/support/op_job.h"
#include "util/units.h"

namespace gpubench {
namespace {

constexpr std::uint64_t kShareOfCache = 4;
/// Some 100 us on a GPU, and so many pieces of work per warp that the last ones do not count.
constexpr std::uint64_t kUsualPasses = 256;
/// A chunk is summed in FP32, in parts.
constexpr double kSumTolerance = 1e-5;

std::span<const Provider<CacheProblem>> cache_providers() {
  static const std::vector<Provider<CacheProblem>> providers {
#if GPUBENCH_HAS_CUDA
    {"own", own_cache_supports, own_cache_plan},
#endif
        {"cpu", cpu_cache_supports, cpu_cache_plan},
  };
  return providers;
}

void cache_reference(DeviceKind kind, [[maybe_unused]] Stream& stream,
                     const CacheArguments& arguments) {
#if GPUBENCH_HAS_CUDA
  if (kind == DeviceKind::cuda) return cuda_cache_reference(stream, arguments);
#endif
  if (kind == DeviceKind::cpu) return cpu_cache_reference(arguments);
  throw DeviceError("E_NO_CUDA",
                    "this build has no CUDA: build with a CUDA toolkit, or --device cpu");
}

/// The same buffers again and again, whatever the run's conditions are: that is the point.
Conditions in_cache(Conditions conditions) {
  conditions.cache = CacheMode::hot;
  return conditions;
}

std::uint64_t working_set(const CacheProblem& problem) {
  return checked_mul({problem.count, sizeof(float), problem.copies ? 2u : 1u});
}

}  // namespace

CacheProblem cache_problem(const DeviceInfo& device, const std::string& kernel, std::uint64_t bytes,
                           std::uint64_t passes) {
  CacheProblem problem{.copies = kernel == "copy", .passes = passes};
  if (bytes == 0) bytes = device.l2_bytes / kShareOfCache;
  if (passes == 0 && device.kind == DeviceKind::cuda) problem.passes = kUsualPasses;
  if (passes == 0 && device.kind == DeviceKind::cpu) {
    // The passes of a copy would meet in the same places.
    problem.passes = problem.copies ? 1 : static_cast<std::uint64_t>(std::max(device.sm_count, 1));
  }
  problem.count = bytes / sizeof(float) / (problem.copies ? 2 : 1);
  return problem;
}

std::vector<Operand> cache_operands(const CacheProblem& problem) {
  std::vector<Operand> operands;
  operands.push_back({.name = "a", .role = Role::input, .count = problem.count});
  if (problem.copies) {
    operands.push_back({.name = "copy", .role = Role::output, .count = problem.count});
  }
  operands.push_back({.name = "sums",
                      .role = Role::output,
                      .count = checked_mul({problem.passes, cache_chunks(problem.count)}),
                      .tolerance = kSumTolerance});
  return operands;
}

CacheArguments cache_arguments(const CacheProblem& problem, std::span<void* const> operands) {
  CacheArguments arguments;
  arguments.a = static_cast<const float*>(operands.front());
  if (problem.copies) arguments.copy = static_cast<float*>(operands[1]);
  arguments.sums = static_cast<float*>(operands.back());
  arguments.count = problem.count;
  arguments.passes = problem.passes;
  return arguments;
}

std::unique_ptr<Job> make_cache_job(Context& context, const CacheProblem& problem,
                                    const std::string& impl) {
  const DeviceInfo& device = context.device.info();
  if (problem.count == 0) {
    throw Unsupported("E_CACHE_UNKNOWN",
                      "the size of this device's shared cache is not known; bytes=SIZE sets the "
                      "working set");
  }
  const auto& provider = select(cache_providers(), device, problem, impl);
  const Conditions conditions = in_cache(context.conditions);
  Context in_cache_context{context.device, context.stream, context.libraries, conditions};
  OpJobSpec spec;
  spec.operands = cache_operands(problem);
  spec.plan = provider.plan(in_cache_context, problem);
  spec.work = cache_work(problem.passes, working_set(problem));
  spec.info.impl = provider.name;
  spec.info.compute_type = "fp32";
  spec.info.cache = "hot";
  if (working_set(problem) > device.l2_bytes) spec.info.warnings.emplace_back("W_ABOVE_CACHE");
  spec.reference_name = "double, each chunk of every pass";
  spec.reference = [problem, kind = device.kind](Stream& stream, std::span<void* const> operands,
                                                 std::span<float* const> references) {
    CacheArguments arguments = cache_arguments(problem, operands);
    if (problem.copies) arguments.copy = references.front();
    arguments.sums = references.back();
    cache_reference(kind, stream, arguments);
  };
  return std::make_unique<OpJob>(in_cache_context, std::move(spec));
}

std::uint64_t cache_footprint(const DeviceInfo& device, const Conditions& conditions,
                              const CacheProblem& problem) {
  if (problem.count == 0 && device.l2_bytes > 0) {
    throw ConfigError("bytes is too small: the working set would hold no FP32 element");
  }
  if (problem.count == 0) return 0;  // will be skipped, with the reason
  return op_job_footprint(device, in_cache(conditions), cache_operands(problem));
}

}  // namespace gpubench
