// SPDX-License-Identifier: Apache-2.0
// Matrix product C[m][n] = epilogue(A[m][k] B[k][n]) in FP64, FP32, TF32, FP16, BF16, FP8 and INT8,
// one or a batch of them.
#include "ops/gemm/job.h"

namespace gpubench {
namespace {

GemmProblem problem_of(const Params& params) {
  const std::string& layout = params.text("layout");
  return {.m = params.integer("m"),
          .n = params.integer("n"),
          .k = params.integer("k"),
          .batch = params.integer("batch"),
          .dtype = params.dtype(),
          .a_k_contiguous = layout[0] == 't',
          .b_k_contiguous = layout[1] == 'n',
          .epilogue = parse_epilogue(params.text("epilogue")),
          .fast_accum = params.flag("fast_accum"),
          .tune = params.flag("tune")};
}

const Registration kGemm{{
    .name = "ops/gemm",
    .summary = "Matrix product, one or a batch, with an optional fused bias and GELU or residual",
    .params =
        {int_param("m", 4096, "rows of A and C"), int_param("n", 4096, "columns of B and C"),
         int_param("k", 4096, "length of each dot product"),
         int_param("batch", 1, "independent products, their matrices one after the other"),
         choice_param("dtype", "bf16",
                      {"fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "fp8_e5m2", "int8"},
                      "type of A and B; fp8 is E4M3, fp8_e5m2 an E5M2 gradient A by an E4M3 "
                      "B, both with scales, written as bf16; int8 is written as int32"),
         choice_param("layout", "tn", {"tn", "nn", "nt", "tt"},
                      "BLAS letters of column-major A and B. First t: A[m][k], the last index "
                      "contiguous, n: A[k][m]; second n: B[n][k], t: B[k][n]; always C[m][n]"),
         choice_param("epilogue", "none", epilogue_names(),
                      "fused after the product; GELU in its tanh form, aux: what goes into it is "
                      "stored, too; residual: a matrix like C is added"),
         bool_param("fast_accum", true, "fp8: accumulate in the tensor core's short registers"),
         bool_param("tune", false, "time the provider's candidates instead of taking its first"),
         choice_param("impl", "auto", {"auto", "cublaslt", "own_sm90a", "cpu"}, "provider")},
    .footprint =
        [](const DeviceInfo& device, const Conditions& conditions, const Params& params) {
          return gemm_footprint(device, conditions, problem_of(params));
        },
    .prepare =
        [](Context& context, const Params& params) {
          return make_gemm_job(context, problem_of(params), params.text("impl"));
        },
}};

}  // namespace
}  // namespace gpubench
