// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/cuda/own_arguments.h"

#include "gpubench/error.h"

namespace gpubench {
namespace {

GemmEpilogue own_epilogue(Epilogue epilogue) {
  switch (epilogue) {
    case Epilogue::none:
      return GemmEpilogue::none;
    case Epilogue::bias:
      return GemmEpilogue::bias;
    case Epilogue::bias_gelu:
      return GemmEpilogue::bias_gelu;
    case Epilogue::bias_gelu_aux:
      return GemmEpilogue::bias_gelu_aux;
    case Epilogue::bias_residual:
      return GemmEpilogue::bias_residual;
  }
  throw Error("E_INTERNAL", "unknown epilogue");
}

}  // namespace

std::optional<GemmType> own_gemm_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::bf16:
      return GemmType::bf16;
    case Dtype::fp16:
      return GemmType::fp16;
    case Dtype::tf32:
      return GemmType::tf32;
    case Dtype::fp8_e4m3:
      return GemmType::fp8_e4m3;
    case Dtype::fp8_e5m2:
      return GemmType::fp8_e5m2;
    case Dtype::int8:
      return GemmType::int8;
    default:
      return std::nullopt;
  }
}

GemmArguments own_gemm_arguments(const GemmProblem& problem) {
  const double scale = dequant_scale(problem.dtype) * dequant_scale(problem.dtype);
  GemmArguments arguments;
  arguments.type = own_gemm_type(problem.dtype).value();
  arguments.epilogue = own_epilogue(problem.epilogue);
  arguments.a_k_contiguous = problem.a_k_contiguous;
  arguments.b_k_contiguous = problem.b_k_contiguous;
  arguments.promote = is_fp8(problem.dtype) && !problem.fast_accum;
  arguments.m = problem.m;
  arguments.n = problem.n;
  arguments.k = problem.k;
  arguments.scale = static_cast<float>(scale);
  return arguments;
}

GemmArguments with_operands(GemmArguments arguments, const GemmPointers& operands,
                            void* workspace) {
  arguments.a = operands.a;
  arguments.b = operands.b;
  arguments.bias = operands.bias;
  arguments.residual = operands.residual;
  arguments.c = operands.c;
  arguments.aux = operands.aux;
  arguments.workspace = workspace;
  return arguments;
}

}  // namespace gpubench
