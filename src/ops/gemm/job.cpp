// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/job.h"

#include <utility>

#include "core/formulas.h"
#include "ops/gemm/providers.h"
#include "ops/gemm/reference.h"
#include "ops/support/op_job.h"
#include "util/units.h"

namespace gpubench {
namespace {

Work work_of(const GemmProblem& problem) {
  const std::size_t out_bytes = storage_bytes(output_dtype(problem.dtype));
  const int extra_matrices = has_residual(problem.epilogue) || has_aux(problem.epilogue) ? 1 : 0;
  return gemm_work(problem.m, problem.n, problem.k, storage_bytes(problem.dtype), out_bytes,
                   has_bias(problem.epilogue) ? out_bytes : 0, problem.batch, extra_matrices);
}

/// What products are summed in; TF32 is named for what its operands are cut to.
std::string compute_type(Dtype dtype, bool emulated) {
  if (dtype == Dtype::fp64) return "fp64";
  if (emulated) return "fp32";
  if (dtype == Dtype::int8) return "int32";
  return dtype == Dtype::tf32 ? "tf32" : "fp32";
}

JobInfo info_of(const DeviceInfo& device, const GemmProblem& problem, std::string_view impl) {
  JobInfo info;
  info.impl = impl;
  info.emulated = impl == "cpu" && problem.dtype != Dtype::fp32 && problem.dtype != Dtype::fp64;
  info.compute_type = compute_type(problem.dtype, info.emulated);
  if (!info.emulated) info.peak_dtype = gemm_peak_key(device, problem.dtype);
  return info;
}

/// On a GPU the most that any provider takes, since which one it will be isn't known here.
std::uint64_t workspace_footprint(DeviceKind kind, const GemmProblem& problem) {
#if GPUBENCH_HAS_CUDA
  if (kind == DeviceKind::cuda) {
    return checked_add({kMostGemmWorkspace, own_sm90a_gemm_copy_bytes(problem)});
  }
#endif
  return kind == DeviceKind::cuda ? kMostGemmWorkspace : cpu_gemm_workspace_bytes(problem);
}

}  // namespace

std::unique_ptr<Job> make_gemm_job(Context& context, const GemmProblem& problem,
                                   const std::string& impl,
                                   std::optional<double> full_check_flops) {
  const DeviceInfo& device = context.device.info();
  const Provider<GemmProblem>& provider = select(gemm_providers(), device, problem, impl);
  OpJobSpec spec;
  spec.operands = gemm_operands(problem);
  spec.plan = provider.plan(context, problem);
  spec.work = work_of(problem);
  spec.info = info_of(device, problem, provider.name);
  GemmVerification verification = gemm_verification(
      context, problem,
      full_check_flops.value_or(default_full_check_flops(device.kind, problem.dtype)));
  spec.reference = std::move(verification.reference);
  spec.wide_reference = std::move(verification.wide_reference);
  spec.verify_set = std::move(verification.verify_set);
  spec.reference_name = std::move(verification.name);
  return std::make_unique<OpJob>(context, std::move(spec));
}

std::uint64_t gemm_footprint(const DeviceInfo& device, const Conditions& conditions,
                             const GemmProblem& problem) {
  const double limit = default_full_check_flops(device.kind, problem.dtype);
  return checked_add({op_job_footprint(device, conditions, gemm_operands(problem),
                                       gemm_checks_every_element(problem, limit)),
                      gemm_verification_bytes(problem, limit),
                      workspace_footprint(device.kind, problem)});
}

}  // namespace gpubench
