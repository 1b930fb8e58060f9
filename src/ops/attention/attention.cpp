// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/attention.h"

#include <fmt/format.h>

#include <cmath>
#include <initializer_list>
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

constexpr double kFp8Scale = 64;  // operand_scale of ops/gemm says why

/// Hopper's FP8 accumulator keeps about 14 bits (gemm_tolerance has the source): each step of 32
/// products may lose 2^-13 of the sum, in one direction.
double fp8_accumulation(std::int64_t products) {
  constexpr double kShortRoundoff = 0x1p-13, kStep = 32, kMostSteps = 256;
  return kShortRoundoff * std::fmin(std::ceil(static_cast<double>(products) / kStep), kMostSteps);
}

/// Bounds on |out - ref| / (|ref| + rms of the row), for providers that round P and dS to the type
/// (as all flash-style kernels do), accumulate in FP32 and round the result. Each of the summed
/// terms is off by up to u = unit_roundoff, independently, so an element errs by u times the root
/// of the terms' squares, which is about the row's rms; the largest of some 10^8 elements is about
/// 5 standard deviations (0.6 u each) out, and rounding the result adds up to u. That is 4 u;
/// the backward pass rounds twice in a row and subtracts delta. bf16: 1.6e-2 and 3.1e-2.
/// FP8: 4 u = 0.25, and what the accumulator loses.
double tolerance(const AttentionProblem& problem) {
  if (problem.dtype == Dtype::fp8_e4m3) {
    return 4 * unit_roundoff(Dtype::fp8_e4m3) + fp8_accumulation(problem.keys());
  }
  const double bf16 = problem.backward ? 4e-2 : 2e-2;
  // fp16 has three more bits, but P below 6e-5 is subnormal there: a quarter, not an eighth.
  return problem.dtype == Dtype::fp16 ? bf16 / 4 : bf16;
}

/// FP32 throughout, but for FP8's scores: some 1e-6 from exp and log, against values of order
/// log(seq). Base 2 for e, or a missing key tile, is far outside.
double lse_tolerance(const AttentionProblem& problem) {
  const bool fp8 = problem.dtype == Dtype::fp8_e4m3;
  return 1e-3 + (fp8 ? fp8_accumulation(problem.head_dim) : 0);
}

std::size_t product(std::initializer_list<std::int64_t> sizes) {
  std::uint64_t count = 1;
  for (const std::int64_t size : sizes) {
    if (size < 1) throw ConfigError("attention sizes must be at least 1", "E_SIZE");
    count = checked_mul({count, static_cast<std::uint64_t>(size)});
  }
  return static_cast<std::size_t>(count);
}

std::size_t query_rows(const AttentionProblem& problem) {
  return product({problem.batch, problem.heads, problem.seq});
}

std::size_t query_count(const AttentionProblem& problem) {
  return product({problem.batch, problem.heads, problem.seq, problem.head_dim});
}

std::size_t key_count(const AttentionProblem& problem) {
  return product({problem.batch, problem.key_heads(), problem.keys(), problem.head_dim});
}

void check_mask(const AttentionProblem& problem) {
  if (problem.heads % problem.key_heads() != 0) {
    throw ConfigError(fmt::format("heads={} is not a multiple of kv_heads={}", problem.heads,
                                  problem.key_heads()),
                      "E_SIZE");
  }
  if (problem.window < 0) throw ConfigError("window must not be negative", "E_SIZE");
  if (!problem.causal) {
    if (problem.window == 0 && problem.align == CausalAlign::top_left) return;
    throw ConfigError("window and causal_align need causal=1", "E_SIZE");
  }
  // The first query sees keys up to diagonal(), the last those from seq - window + diagonal() on.
  const bool first_sees_none = problem.diagonal() < 0;
  const bool last_sees_none =
      problem.window > 0 && problem.seq - problem.window + problem.diagonal() >= problem.keys();
  if (!first_sees_none && !last_sees_none) return;
  throw ConfigError(
      fmt::format("{} query would see no key: {}", first_sees_none ? "the first" : "the last",
                  first_sees_none ? "causal_align=bottom_right needs seq <= seq_kv"
                                  : "choose a larger window or seq_kv"),
      "E_SIZE");
}

AttentionSizes sizes_of(const AttentionProblem& problem) {
  return {.batch = problem.batch,
          .heads = problem.heads,
          .kv_heads = problem.key_heads(),
          .seq = problem.seq,
          .seq_kv = problem.keys(),
          .head_dim = problem.head_dim,
          .causal = problem.causal,
          .diagonal = problem.diagonal(),
          .window = problem.window,
          .backward = problem.backward,
          .element_bytes = storage_bytes(problem.dtype)};
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

/// Where a query sees one key only, dS and with it dQ and dK are exactly zero, and providers leave
/// the rounding of dP - delta. Elsewhere they are of order 1 / sqrt(seq): larger than this.
constexpr double kLeastGradient = 1e-3;

/// But few queries of many keys leave each key little: P is about 1 over the keys a query sees, and
/// as many terms are added as queries see the key.
double least_key_gradient(const AttentionProblem& problem) {
  const double pairs = attention_kept_pairs(sizes_of(problem));
  const double keys_of_query = pairs / static_cast<double>(problem.seq);
  const double queries_of_key = pairs / static_cast<double>(problem.keys()) *
                                static_cast<double>(problem.heads / problem.key_heads());
  return std::fmin(kLeastGradient, 0.1 * std::sqrt(queries_of_key) / keys_of_query);
}

}  // namespace

double attention_operand_scale(Dtype dtype) { return dtype == Dtype::fp8_e4m3 ? kFp8Scale : 1; }

double attention_score_scale(const AttentionProblem& problem) {
  const double stored = attention_operand_scale(problem.dtype);
  return 1 / (std::sqrt(static_cast<double>(problem.head_dim)) * stored * stored);
}

std::vector<Operand> attention_operands(const AttentionProblem& problem) {
  const std::size_t queries = query_count(problem), keys = key_count(problem);
  check_mask(problem);
  const auto input = [&](std::string name, std::size_t count) {
    return Operand{.name = std::move(name),
                   .role = Role::input,
                   .dtype = problem.dtype,
                   .count = count,
                   .scale = attention_operand_scale(problem.dtype)};
  };
  const auto output = [&](std::string name, std::size_t count) {
    Operand operand = input(std::move(name), count);
    operand.role = Role::output;
    operand.tolerance = tolerance(problem);
    operand.row = static_cast<std::size_t>(problem.head_dim);
    return operand;
  };
  const auto cancelling_output = [&](std::string name, std::size_t count, double least_rms) {
    Operand operand = output(std::move(name), count);
    operand.least_rms = least_rms;
    return operand;
  };
  Operand lse{.name = "lse", .dtype = Dtype::fp32, .count = query_rows(problem)};
  if (problem.backward) {
    return {input("q", queries),
            input("k", keys),
            input("v", keys),
            input("o", queries),
            input("do", queries),
            lse,
            cancelling_output("dq", queries, kLeastGradient),
            cancelling_output("dk", keys, least_key_gradient(problem)),
            output("dv", keys)};
  }
  lse.role = Role::output;
  lse.tolerance = lse_tolerance(problem);
  return {input("q", queries), input("k", keys), input("v", keys), output("o", queries), lse};
}

Support attention_pass_support(const AttentionProblem& problem) {
  if (problem.dtype != Dtype::fp8_e4m3 || !problem.backward) return Support::yes();
  return Support::no("E_UNSUPPORTED_DTYPE", "fp8 has a forward pass only; use bf16 or fp16");
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
  const std::uint64_t rows = query_rows(problem);
  // The reference's FP64 log-sum-exp and delta.
  const std::uint64_t scratch = device.kind == DeviceKind::cpu ? 0 : checked_mul({rows, 16});
  std::uint64_t workspace = 0;
  if (problem.backward) {
    // Libraries add up dQ in FP32, next to a delta per row; where heads share keys, they first
    // store dK and dV of every head.
    workspace = checked_mul({rows, 4, static_cast<std::uint64_t>(problem.head_dim) + 2});
    if (problem.key_heads() != problem.heads) {
      const std::uint64_t group = static_cast<std::uint64_t>(problem.heads / problem.key_heads());
      workspace = checked_add(
          {workspace, checked_mul({2, group, key_count(problem), storage_bytes(problem.dtype)})});
    }
  }
  return checked_add(
      {op_job_footprint(device, conditions, attention_operands(problem)), scratch, workspace});
}

std::unique_ptr<Job> prepare_attention(Context& context, const AttentionProblem& problem,
                                       std::string_view impl) {
  const DeviceInfo& info = context.device.info();
  OpJobSpec spec;
  spec.operands = attention_operands(problem);  // first: it refuses impossible shapes
  const auto& provider = select(attention_providers(), info, problem, impl);
  spec.plan = provider.plan(context, problem);
  spec.work = attention_work(sizes_of(problem));
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
