// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/job.h"

#include <utility>
#include <vector>

#include "core/formulas.h"
#include "ops/conv/providers.h"
#include "ops/conv/reference.h"
#include "ops/support/op_job.h"
#include "util/units.h"

namespace gpubench {
namespace {

JobInfo info_of(const ConvProblem& problem, std::string_view impl) {
  JobInfo info;
  info.impl = impl;
  info.emulated = impl == "cpu" && problem.dtype != Dtype::fp32;
  info.compute_type = problem.dtype == Dtype::tf32 && !info.emulated ? "tf32" : "fp32";
  if (!info.emulated) info.peak_dtype = peak_key(problem.dtype);
  return info;
}

}  // namespace

std::unique_ptr<Job> make_conv_job(Context& context, const ConvProblem& problem,
                                   const std::string& impl,
                                   std::optional<double> full_check_flops) {
  const DeviceInfo& device = context.device.info();
  OpJobSpec spec;
  spec.operands = conv_operands(problem);  // first: it refuses impossible shapes
  const Provider<ConvProblem>& provider = select(conv_providers(), device, problem, impl);
  spec.plan = provider.plan(context, problem);
  spec.work = conv_work(problem.shape.n, problem.shape.h, problem.shape.w, problem.shape.c,
                        problem.shape.p(), problem.shape.q(), problem.shape.k, problem.shape.r,
                        problem.shape.s, problem.shape.groups, storage_bytes(problem.dtype));
  spec.info = info_of(problem, provider.name);
  ConvVerification verification = conv_verification(
      context, problem, full_check_flops.value_or(default_full_conv_flops(device.kind)));
  spec.reference = std::move(verification.reference);
  spec.verify_set = std::move(verification.verify_set);
  spec.reference_name = std::move(verification.name);
  return std::make_unique<OpJob>(context, std::move(spec));
}

std::uint64_t conv_footprint(const DeviceInfo& device, const Conditions& conditions,
                             const ConvProblem& problem) {
  const std::vector<Operand> operands = conv_operands(problem);
  // First what throws for a size that overflows: the sizes of the check are plain products of the
  // same numbers.
  static_cast<void>(op_job_footprint(device, conditions, operands, /*references=*/false));
  const double limit = default_full_conv_flops(device.kind);
  return checked_add(
      {op_job_footprint(device, conditions, operands, conv_checks_every_element(problem, limit)),
       conv_verification_bytes(device.kind, problem, limit),
       device.kind == DeviceKind::cuda ? kMostConvWorkspace : 0});
}

}  // namespace gpubench
