// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/reference.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "gpubench/error.h"
#include "kernels/conv_reference/conv_split.h"
#include "util/units.h"

namespace gpubench {
namespace {

/// Errors of a projection's elements add up at random, a wrong element does not: twice the
/// tolerance of a single element leaves room for the extremes.
constexpr double kProjectionTolerance = 2;

ConvCheckBackend checks_for(DeviceKind kind) {
#if GPUBENCH_HAS_CUDA
  if (kind == DeviceKind::cuda) return cuda_conv_checks();
#endif
  if (kind == DeviceKind::cpu) return cpu_conv_checks();
  throw DeviceError("E_NO_CUDA",
                    "this build has no CUDA: build with a CUDA toolkit, or --device cpu");
}

/// The host's reference needs none. Asked of builds without CUDA too, which plan runs for GPUs.
std::size_t scratch_bytes(DeviceKind kind, ConvPass pass, const ConvShape& shape) {
  return kind == DeviceKind::cpu ? 0 : conv_reference_scratch_bytes(pass, shape);
}

ConvReference reference_problem(DeviceKind kind, const ConvProblem& problem,
                                std::span<void* const> operands) {
  const Dtype stored = storage_dtype(kind, problem.dtype);
  return {.pass = problem.pass,
          .shape = problem.shape,
          .first = operands[conv_operand::kFirst],
          .first_dtype = stored,
          .second = operands[conv_operand::kSecond],
          .second_dtype = stored};
}

double flops_of(const ConvProblem& problem) {
  const ConvMatrix matrix = conv_matrix(problem.pass, problem.shape);
  // Forward and dgrad: each column belongs to one group, and so does each row of wgrad.
  return 2 * static_cast<double>(matrix.rows) * static_cast<double>(matrix.columns) *
         static_cast<double>(matrix.depth);
}

/// How a problem is projected: the smaller convolution, and what of the second input and of the
/// output is summed.
struct Projected {
  ConvShape shape;
  ConvProjection second, output;
};

Projected project(const ConvProblem& problem, std::uint64_t seed) {
  const ConvShape& shape = problem.shape;
  Projected result{.shape = shape, .second = {}, .output = {}};
  const std::int64_t taps = shape.r * shape.s, outputs = shape.n * shape.p() * shape.q();
  const ConvProjection filters{.outer = 1,
                               .channels = shape.k,
                               .inner = taps * shape.group_c(),
                               .groups = shape.groups,
                               .seed = seed};
  const ConvProjection images{
      .outer = outputs, .channels = shape.k, .inner = 1, .groups = shape.groups, .seed = seed};
  switch (problem.pass) {
    case ConvPass::forward:
      result.second = filters;
      result.output = images;
      break;
    case ConvPass::dgrad:
      // A filter has its own group's channels only.
      result.second = {
          .outer = shape.k * taps, .channels = shape.group_c(), .inner = 1, .seed = seed};
      result.output = {.outer = shape.n * shape.h * shape.w,
                       .channels = shape.c,
                       .inner = 1,
                       .groups = shape.groups,
                       .seed = seed};
      result.shape.c = shape.groups * projection_groups(shape.group_c());
      return result;
    case ConvPass::wgrad:
      result.second = images;
      result.output = filters;
      break;
  }
  result.shape.k = shape.groups * projection_groups(shape.group_k());
  return result;
}

std::uint64_t projected_count(const ConvProjection& of) {
  return static_cast<std::uint64_t>(of.outer * of.groups *
                                    projection_groups(of.channels / of.groups) * of.inner);
}

/// Elements of each buffer that the sampled check needs.
struct SampledSizes {
  std::uint64_t second, values, scratch_bytes;
};

SampledSizes sampled_sizes(DeviceKind kind, const ConvProblem& problem) {
  const Projected projected = project(problem, 0);
  const ConvMatrix matrix = conv_matrix(problem.pass, problem.shape);
  return {.second = projected_count(projected.second),
          .values = std::max(projected_count(projected.output),
                             static_cast<std::uint64_t>(sample_count(matrix.rows, matrix.columns))),
          .scratch_bytes = scratch_bytes(kind, problem.pass, projected.shape)};
}

class SampledCheck {
 public:
  SampledCheck(Device& device, const ConvProblem& problem, std::uint64_t seed)
      : SampledCheck(device, problem, seed, sampled_sizes(device.info().kind, problem)) {}

  Check operator()(Stream& stream, std::span<void* const> operands) const {
    const DeviceKind kind = device_.info().kind;
    const ConvCheckBackend checks = checks_for(kind);
    const ConvReference whole = reference_problem(kind, problem_, operands);
    const void* out = operands[conv_operand::kOutput];
    const Dtype out_dtype = storage_dtype(kind, conv_output_dtype(problem_.dtype));
    auto* given = static_cast<float*>(given_.data());
    auto* wanted = static_cast<float*>(wanted_.data());

    const ConvMatrix matrix = conv_matrix(problem_.pass, problem_.shape);
    checks.samples(stream, whole, out, out_dtype, seed_, given, wanted);
    Check sampled = compare(stream, "samples of the output, one per tile",
                            static_cast<std::size_t>(sample_count(matrix.rows, matrix.columns)), 1);
    if (!sampled.passed) return sampled;

    Projected projected = project(problem_, seed_);
    projected.second.data = whole.second;
    projected.second.dtype = whole.second_dtype;
    projected.output.data = out;
    projected.output.dtype = out_dtype;
    checks.projection(stream, projected.second, second_.data(), Dtype::fp64);
    ConvReference smaller = whole;
    smaller.shape = projected.shape;
    smaller.second = second_.data();
    smaller.second_dtype = Dtype::fp64;
    checks.reference(stream, smaller, wanted, scratch_.data());
    checks.projection(stream, projected.output, given, Dtype::fp32);
    Check all =
        compare(stream, "projection of the output onto blocks of channels",
                static_cast<std::size_t>(projected_count(projected.output)), kProjectionTolerance);
    // The samples' error is the comparable one: it means what it means for small problems.
    return all.passed ? sampled : all;
  }

 private:
  SampledCheck(Device& device, const ConvProblem& problem, std::uint64_t seed,
               const SampledSizes& sizes)
      : device_(device),
        problem_(problem),
        seed_(seed),
        second_(device, static_cast<std::size_t>(sizes.second) * sizeof(double)),
        given_(device, static_cast<std::size_t>(sizes.values) * sizeof(float)),
        wanted_(device, static_cast<std::size_t>(sizes.values) * sizeof(float)),
        scratch_(device,
                 static_cast<std::size_t>(std::max<std::uint64_t>(sizes.scratch_bytes, 1))) {}

  Check compare(Stream& stream, const char* name, std::size_t count, double factor) const {
    const Operand operand{.name = name,
                          .role = Role::output,
                          .dtype = Dtype::fp32,
                          .count = count,
                          .tolerance = factor * conv_tolerance(problem_)};
    return compare_with_reference(device_, stream, given_.data(), operand,
                                  static_cast<const float*>(wanted_.data()));
  }

  Device& device_;
  ConvProblem problem_;
  std::uint64_t seed_;
  Buffer second_, given_, wanted_, scratch_;
};

}  // namespace

double default_full_conv_flops(DeviceKind kind) { return kind == DeviceKind::cuda ? 1e12 : 4e9; }

bool conv_checks_every_element(const ConvProblem& problem, double full_check_flops) {
  return flops_of(problem) <= full_check_flops;
}

std::uint64_t conv_verification_bytes(DeviceKind kind, const ConvProblem& problem,
                                      double full_check_flops) {
  if (conv_checks_every_element(problem, full_check_flops)) {
    return scratch_bytes(kind, problem.pass, problem.shape);
  }
  const SampledSizes sizes = sampled_sizes(kind, problem);
  return checked_add({checked_mul({sizes.second, sizeof(double)}),
                      checked_mul({sizes.values, 2 * sizeof(float)}), sizes.scratch_bytes});
}

ConvVerification conv_verification(Context& context, const ConvProblem& problem,
                                   double full_check_flops) {
  const DeviceKind kind = context.device.info().kind;
  const std::string where = kind == DeviceKind::cpu ? "on the host" : "on the device";
  ConvVerification verification;
  // Shared, because std::function wants to be copyable; buffers are not.
  if (conv_checks_every_element(problem, full_check_flops)) {
    const ConvCheckBackend checks = checks_for(kind);
    const auto scratch = std::make_shared<const Buffer>(
        context.device, std::max<std::size_t>(scratch_bytes(kind, problem.pass, problem.shape), 1));
    verification.name = "double " + where + ", every element";
    verification.reference = [kind, problem, checks, scratch](Stream& stream,
                                                              std::span<void* const> operands,
                                                              std::span<float* const> references) {
      checks.reference(stream, reference_problem(kind, problem, operands), references[0],
                       scratch->data());
    };
    return verification;
  }
  verification.name =
      "double " + where + ", projection of every element and one sample per 64x64 tile";
  verification.verify_set =
      [check =
           std::make_shared<const SampledCheck>(context.device, problem, context.conditions.seed)](
          Stream& stream, std::span<void* const> operands) { return (*check)(stream, operands); };
  return verification;
}

}  // namespace gpubench
