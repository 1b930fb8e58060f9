// SPDX-License-Identifier: Apache-2.0
// Device memory bandwidth with the STREAM kernels. Also the shortest complete workload: a problem,
// its operands, a provider, a reference, and the registration.
#include "core/formulas.h"
#include "gpubench/error.h"
#include "ops/memory/providers.h"
#include "ops/support/op_job.h"

namespace gpubench {
namespace {

MemoryProblem problem_of(const Params& params) {
  const std::size_t element = storage_bytes(params.dtype());
  if (params.integer("bytes") % static_cast<std::int64_t>(element) != 0) {
    throw ConfigError("micro/memory: bytes=" + params.text("bytes") + " is no multiple of the " +
                      std::to_string(element) + " bytes of an element");
  }
  return {.kernel = parse_stream_kernel(params.text("kernel")),
          .count = static_cast<std::uint64_t>(params.integer("bytes")) / element,
          .variant = static_cast<int>(params.integer("variant"))};
}

/// Copying and doubling are exact; the others round. `read` sums a chunk's elements in FP32, in
/// parts.
double tolerance_of(StreamKernel kernel) {
  switch (kernel) {
    case StreamKernel::copy:
    case StreamKernel::scale:
      return 0;
    case StreamKernel::triad:
      return 1e-6;
    case StreamKernel::read:
      return 1e-5;
  }
  return 0;
}

std::vector<Operand> operands_of(const MemoryProblem& problem) {
  std::vector<Operand> operands;
  operands.push_back({.name = "a", .role = Role::input, .count = problem.count});
  if (problem.kernel == StreamKernel::triad) {
    operands.push_back({.name = "b", .role = Role::input, .count = problem.count});
  }
  operands.push_back({.name = "out",
                      .role = Role::output,
                      .count = output_count(problem),
                      .tolerance = tolerance_of(problem.kernel)});
  return operands;
}

std::unique_ptr<Job> prepare(Context& context, const Params& params) {
  const MemoryProblem problem = problem_of(params);
  const DeviceInfo& device = context.device.info();
  const auto& provider = select(memory_providers(), device, problem, params.text("impl"));
  OpJobSpec spec;
  spec.operands = operands_of(problem);
  spec.plan = provider.plan(context, problem);
  spec.work = memory_work(params.text("kernel"), problem.count, sizeof(float));
  spec.info.impl = provider.name;
  spec.info.compute_type = "fp32";
  spec.reference_name = "double, every element";
  spec.reference = [problem, kind = device.kind](Stream& stream, std::span<void* const> operands,
                                                 std::span<float* const> references) {
    StreamArguments arguments = stream_arguments(problem, operands);
    arguments.out = references[0];
    memory_reference(kind, stream, arguments);
  };
  return std::make_unique<OpJob>(context, std::move(spec));
}

const Registration kMemory{{
    .name = "micro/memory",
    .summary = "Memory bandwidth: copy, scale, triad (a + s b) and read of large arrays",
    .params = {choice_param("kernel", "copy", {"copy", "scale", "triad", "read"},
                            "arrays read and written: 1+1, 1+1, 2+1, 1+0"),
               int_param("bytes", std::int64_t{1} << 30, "size of one array", 4),
               choice_param("dtype", "fp32", {"fp32"}, "type of the elements"),
               int_param("variant", 0, "launch shape of the own kernels (kernels/memory/stream.cu)",
                         0, kStreamVariants - 1),
               choice_param("impl", "auto", {"auto", "own", "cpu"}, "provider")},
    .footprint =
        [](const DeviceInfo& device, const Conditions& conditions, const Params& params) {
          return op_job_footprint(device, conditions, operands_of(problem_of(params)));
        },
    .prepare = prepare,
}};

}  // namespace
}  // namespace gpubench
