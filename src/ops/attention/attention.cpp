// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/attention.h"

#include <string>
#include <utility>

#include "core/formulas.h"
#include "ops/attention/cpu_attention.h"
#include "ops/attention/reference.h"
#include "util/units.h"
#if GPUBENCH_HAS_CUDNN
#include "ops/attention/cudnn/sdpa.h"
#endif

namespace gpubench {
namespace {

/// Bounds on |out - ref| / (|ref| + rms of the row), for providers that round P and dS to the type
/// (as all flash-style kernels do), accumulate in FP32 and round the result. Each of the summed
/// terms is off by up to u = unit_roundoff, independently, so an element errs by u times the root
/// of the terms' squares, which is about the row's rms; the largest of some 10^8 elements is about
/// 5 standard deviations (0.6 u each) out, and rounding the result adds up to u. That is 4 u;
/// the backward pass rounds twice in a row and subtracts delta. bf16: 1.6e-2 and 3.1e-2.
double tolerance(Dtype dtype, bool backward) {
  const double bf16 = backward ? 4e-2 : 2e-2;
  // fp16 has three more bits, but P below 6e-5 is subnormal there: a quarter, not an eighth.
  return dtype == Dtype::fp16 ? bf16 / 4 : bf16;
}

/// FP32 throughout: some 1e-6 from exp and log, against values of order log(seq). Base 2 for e, or
/// a missing key tile, is far outside.
constexpr double kLseTolerance = 1e-3;

std::size_t tensor_count(const AttentionProblem& problem) {
  for (const std::int64_t size : {problem.batch, problem.heads, problem.seq, problem.head_dim}) {
    if (size < 1) throw ConfigError("attention sizes must be at least 1", "E_SIZE");
  }
  return static_cast<std::size_t>(checked_mul(
      {static_cast<std::uint64_t>(problem.batch), static_cast<std::uint64_t>(problem.heads),
       static_cast<std::uint64_t>(problem.seq), static_cast<std::uint64_t>(problem.head_dim)}));
}

std::size_t row_count(const AttentionProblem& problem) {
  return tensor_count(problem) / static_cast<std::size_t>(problem.head_dim);
}

/// Puts the O and LSE that belong to Q, K, V into every set.
void prepare_backward(Device& device, Stream& stream, AttentionReference& reference,
                      const OperandSets& sets) {
  namespace at = attention_backward;
  const std::span<void* const> first = sets.set(0);
  reference.forward_state(stream, first[at::kQ], first[at::kK], first[at::kV], first[at::kO],
                          static_cast<float*>(first[at::kLse]));
  for (std::size_t set = 1; set < sets.sets(); ++set) {
    for (const std::size_t index : {at::kO, at::kLse}) {
      const Operand& operand = sets.operands()[index];
      const Dtype storage = storage_dtype(device.info().kind, operand.dtype);
      device.copy_on_device(stream, sets.set(set)[index], first[index],
                            operand.count * storage_bytes(storage));
    }
  }
  stream.synchronize();
}

}  // namespace

std::vector<Operand> attention_operands(const AttentionProblem& problem) {
  const std::size_t count = tensor_count(problem);
  const auto input = [&](std::string name) {
    return Operand{
        .name = std::move(name), .role = Role::input, .dtype = problem.dtype, .count = count};
  };
  const auto output = [&](std::string name) {
    Operand operand = input(std::move(name));
    operand.role = Role::output;
    operand.tolerance = tolerance(problem.dtype, problem.backward);
    operand.row = static_cast<std::size_t>(problem.head_dim);
    return operand;
  };
  // Where a query sees one key only, dS and with it dQ and dK are exactly zero, and providers leave
  // the rounding of dP - delta. Elsewhere they are of order 1 / sqrt(seq): larger than this.
  const auto cancelling_output = [&](std::string name) {
    Operand operand = output(std::move(name));
    operand.least_rms = 1e-3;
    return operand;
  };
  Operand lse{.name = "lse", .dtype = Dtype::fp32, .count = row_count(problem)};
  if (problem.backward) {
    return {input("q"),
            input("k"),
            input("v"),
            input("o"),
            input("do"),
            lse,
            cancelling_output("dq"),
            cancelling_output("dk"),
            output("dv")};
  }
  lse.role = Role::output;
  lse.tolerance = kLseTolerance;
  return {input("q"), input("k"), input("v"), output("o"), lse};
}

std::span<const Provider<AttentionProblem>> attention_providers() {
  static const std::vector<Provider<AttentionProblem>> providers {
#if GPUBENCH_HAS_CUDNN
    cudnn_attention_provider(),
#endif
        cpu_attention_provider(),
  };
  return providers;
}

std::uint64_t attention_footprint(const DeviceInfo& device, const Conditions& conditions,
                                  const AttentionProblem& problem) {
  const std::uint64_t rows = row_count(problem);
  // The reference's FP64 log-sum-exp and delta.
  const std::uint64_t scratch = device.kind == DeviceKind::cpu ? 0 : checked_mul({rows, 16});
  // Libraries add up dQ in FP32, next to a delta per row.
  const std::uint64_t workspace =
      problem.backward ? checked_mul({rows, 4, static_cast<std::uint64_t>(problem.head_dim) + 2})
                       : 0;
  return checked_add(
      {op_job_footprint(device, conditions, attention_operands(problem)), scratch, workspace});
}

std::unique_ptr<Job> prepare_attention(Context& context, const AttentionProblem& problem,
                                       std::string_view impl) {
  const DeviceInfo& info = context.device.info();
  const auto& provider = select(attention_providers(), info, problem, impl);
  OpJobSpec spec;
  spec.operands = attention_operands(problem);
  spec.plan = provider.plan(context, problem);
  spec.work = attention_work(problem.batch, problem.heads, problem.seq, problem.head_dim,
                             problem.causal, problem.backward, storage_bytes(problem.dtype));
  spec.info.impl = provider.name;
  spec.info.compute_type = "fp32";  // accumulation and softmax; the products' inputs are the dtype
  spec.info.emulated = info.kind == DeviceKind::cpu;
  if (!spec.info.emulated) spec.info.peak_dtype = peak_key(problem.dtype);

  const std::shared_ptr<AttentionReference> reference =
      make_attention_reference(context.device, problem);
  spec.reference = [reference](Stream& stream, std::span<void* const> operands,
                               std::span<float* const> references) {
    reference->outputs(stream, operands, references);
  };
  spec.reference_name = info.kind == DeviceKind::cpu ? "double on the host, every element"
                                                     : "double on the device, every element";
  if (problem.backward) {
    spec.prepare_inputs = [reference, &device = context.device](Stream& stream,
                                                                const OperandSets& sets) {
      prepare_backward(device, stream, *reference, sets);
    };
  }
  return std::make_unique<OpJob>(context, std::move(spec));
}

}  // namespace gpubench
