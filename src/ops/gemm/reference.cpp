// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/reference.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "gpubench/error.h"
#include "util/units.h"

namespace gpubench {
namespace {

/// Errors of a projection's elements add up at random, a wrong element does not: twice the
/// tolerance of a single element leaves room for the extremes and stays far below what one wrong
/// element makes. In FP64 the check's own sums, in double, err as much again. They do so, too,
/// where the products are exact: an INT8 product wrong by one still is 1e5 times this.
double projection_tolerance(const GemmProblem& problem) {
  constexpr double kTimes = 2;
  const double tolerance = problem.dtype == Dtype::int8
                               ? fp64_sum_tolerance(static_cast<double>(problem.k))
                               : gemm_tolerance(problem);
  return kTimes * tolerance;
}

GemmCheckBackend checks_for(DeviceKind kind) {
#if GPUBENCH_HAS_CUDA
  if (kind == DeviceKind::cuda) return cuda_gemm_checks();
#endif
  if (kind == DeviceKind::cpu) return cpu_gemm_checks();
  throw DeviceError("E_NO_CUDA",
                    "this build has no CUDA: build with a CUDA toolkit, or --device cpu");
}

GemmReference reference_problem(DeviceKind kind, const GemmProblem& problem,
                                std::span<void* const> operands) {
  const GemmPointers pointers = gemm_pointers(problem.epilogue, operands);
  GemmReference out;
  out.m = problem.m;
  out.n = problem.n;
  out.k = problem.k;
  out.batch = problem.batch;
  out.a_dtype = storage_dtype(kind, a_dtype(problem.dtype));
  out.b_dtype = storage_dtype(kind, b_dtype(problem.dtype));
  const std::int64_t a_elements = problem.m * problem.k, b_elements = problem.k * problem.n;
  out.a = problem.a_k_contiguous ? MatrixView{pointers.a, problem.k, 1, a_elements}
                                 : MatrixView{pointers.a, 1, problem.m, a_elements};
  out.b = problem.b_k_contiguous ? MatrixView{pointers.b, 1, problem.k, b_elements}
                                 : MatrixView{pointers.b, problem.n, 1, b_elements};
  out.bias = pointers.bias;
  out.residual = pointers.residual;
  out.bias_dtype = storage_dtype(kind, output_dtype(problem.dtype));
  out.alpha = dequant_scale(problem.dtype) * dequant_scale(problem.dtype);
  out.gelu = has_gelu(problem.epilogue);
  return out;
}

/// Of the references in the order of the outputs.
template <class Real>
Real* aux_of(const GemmProblem& problem, std::span<Real* const> references) {
  return has_aux(problem.epilogue) ? references[1] : nullptr;
}

struct SampledCheck {
  SampledCheck(Device& on, const GemmProblem& what, std::uint64_t with_seed)
      : device(on),
        problem(what),
        seed(with_seed),
        projected_count(static_cast<std::size_t>(what.batch * what.m * projection_groups(what.n))),
        samples(static_cast<std::size_t>(what.batch * sample_count(what.m, what.n))),
        scratch(on,
                static_cast<std::size_t>((what.batch * what.k + 1) * projection_groups(what.n)) *
                    sizeof(double)),
        given(on, std::max(projected_count, samples) * sizeof(double)),
        wanted(on, std::max(projected_count, samples) * sizeof(double)) {}

  Check operator()(Stream& stream, std::span<void* const> operands) const {
    const DeviceKind kind = device.info().kind;
    const GemmCheckBackend checks = checks_for(kind);
    const GemmReference reference = reference_problem(kind, problem, operands);
    const Dtype out = storage_dtype(kind, output_dtype(problem.dtype));
    const double tolerance = gemm_tolerance(problem);
    const void* c = gemm_pointers(problem.epilogue, operands).c;
    auto* given_data = static_cast<double*>(given.data());
    auto* wanted_data = static_cast<double*>(wanted.data());

    checks.samples(stream, reference, c, out, seed, given_data, wanted_data);
    Check sampled = compare(stream, "samples of C, one per tile", samples, tolerance);
    if (!sampled.passed) return sampled;
    checks.projection(stream, reference, c, out, seed, static_cast<double*>(scratch.data()),
                      given_data, wanted_data);
    Check projected = compare(stream, "projection of C onto groups of columns", projected_count,
                              projection_tolerance(problem));
    // The samples' error is the comparable one: it means what it means for small products.
    return projected.passed ? sampled : projected;
  }

  Check compare(Stream& stream, const char* name, std::size_t count, double tolerance) const {
    const Operand operand{.name = name,
                          .role = Role::output,
                          .dtype = Dtype::fp64,
                          .count = count,
                          .tolerance = tolerance};
    return compare_with_reference(device, stream, given.data(), operand, wanted.data());
  }

  Device& device;
  GemmProblem problem;
  std::uint64_t seed;
  std::size_t projected_count, samples;
  Buffer scratch, given, wanted;
};

}  // namespace

double default_full_check_flops(DeviceKind kind, Dtype dtype) {
  const double in_double = kind == DeviceKind::cuda ? 2e12 : 8e9;
  return dtype == Dtype::fp64 ? in_double / 10 : in_double;
}

bool gemm_checks_every_element(const GemmProblem& problem, double full_check_flops) {
  const double flops = 2.0 * static_cast<double>(problem.batch) * static_cast<double>(problem.m) *
                       static_cast<double>(problem.n) * static_cast<double>(problem.k);
  return flops <= full_check_flops || has_gelu(problem.epilogue);
}

std::uint64_t gemm_verification_bytes(const GemmProblem& problem, double full_check_flops) {
  if (gemm_checks_every_element(problem, full_check_flops)) return 0;
  const auto groups = static_cast<std::uint64_t>(projection_groups(problem.n));
  const auto batch = static_cast<std::uint64_t>(problem.batch);
  const auto values = std::max(
      checked_mul({batch, static_cast<std::uint64_t>(problem.m), groups}),
      checked_mul({batch, static_cast<std::uint64_t>(sample_count(problem.m, problem.n))}));
  const std::uint64_t rows =
      checked_add({checked_mul({batch, static_cast<std::uint64_t>(problem.k)}), 1});
  return checked_add(
      {checked_mul({rows, groups, sizeof(double)}), checked_mul({values, 2 * sizeof(double)})});
}

GemmVerification gemm_verification(Context& context, const GemmProblem& problem,
                                   double full_check_flops) {
  const DeviceKind kind = context.device.info().kind;
  const std::string where = kind == DeviceKind::cpu ? "on the host" : "on the device";
  GemmVerification verification;
  const bool fp64 = problem.dtype == Dtype::fp64;
  if (gemm_checks_every_element(problem, full_check_flops)) {
    verification.name = (fp64 ? "twice FP64's precision " : "double ") + where + ", every element";
    if (reference_dtype(output_dtype(problem.dtype)) == Dtype::fp64) {
      verification.wide_reference = [kind, problem](Stream& stream, std::span<void* const> operands,
                                                    std::span<double* const> references) {
        checks_for(kind).wide_reference(stream, reference_problem(kind, problem, operands),
                                        references[0], aux_of(problem, references));
      };
      return verification;
    }
    verification.reference = [kind, problem](Stream& stream, std::span<void* const> operands,
                                             std::span<float* const> references) {
      checks_for(kind).reference(stream, reference_problem(kind, problem, operands), references[0],
                                 aux_of(problem, references));
    };
    return verification;
  }
  verification.name =
      "double " + where + ", projection of every element and one sample per 64x64 tile";
  // Shared, because std::function wants to be copyable; the buffers are not.
  verification.verify_set =
      [check =
           std::make_shared<const SampledCheck>(context.device, problem, context.conditions.seed)](
          Stream& stream, std::span<void* const> operands) { return (*check)(stream, operands); };
  return verification;
}

}  // namespace gpubench
