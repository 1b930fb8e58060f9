// SPDX-License-Identifier: Apache-2.0
// The check that a GEMM job makes, of any plan: also of one that is wrong on purpose.
#pragma once

#include <memory>
#include <utility>

#include "ops/gemm/job.h"
#include "ops/gemm/reference.h"
#include "tests/ops_fixture.h"

namespace gpubench {

constexpr Epilogue kAllEpilogues[] = {Epilogue::none, Epilogue::bias, Epilogue::bias_gelu,
                                      Epilogue::bias_gelu_aux, Epilogue::bias_residual};

inline Check verify_gemm_plan(TestBench& bench, const GemmProblem& problem,
                              std::unique_ptr<Plan> plan, double full_check_flops) {
  Context context = bench.context();
  GemmVerification verification = gemm_verification(context, problem, full_check_flops);
  OpJobSpec spec;
  spec.operands = gemm_operands(problem);
  spec.plan = std::move(plan);
  spec.reference = std::move(verification.reference);
  spec.wide_reference = std::move(verification.wide_reference);
  spec.verify_set = std::move(verification.verify_set);
  return OpJob(context, std::move(spec)).verify(*bench.stream);
}

}  // namespace gpubench
