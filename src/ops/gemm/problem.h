// SPDX-License-Identifier: Apache-2.0
// The matrix product C[m][n] = epilogue(A[m][k] B[k][n]) that every GEMM provider computes.
// Operands in this order: A, B, [bias of n elements], C.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpubench/dtype.h"
#include "ops/support/operands.h"

namespace gpubench {

/// Bytes that a provider may ask for: enough for split-K; frameworks allow 32 MiB on Hopper.
constexpr std::uint64_t kMostGemmWorkspace = 64ull << 20;

enum class Epilogue { none, bias, bias_gelu };  // gelu: the tanh form

/// Layout letters as BLAS gives them for column-major matrices: 't' first is A[m][k], 'n' first
/// A[k][m]; 'n' second is B[n][k], 't' second B[k][n], the last index contiguous. C is always
/// C[m][n]. So "tn", which FP8 needs, has k contiguous in both.
struct GemmProblem {
  std::int64_t m = 0, n = 0, k = 0;
  Dtype dtype = Dtype::bf16;
  bool a_k_contiguous = true;  ///< first letter 't'
  bool b_k_contiguous = true;  ///< second letter 'n'
  Epilogue epilogue = Epilogue::none;
  bool fast_accum = true;  ///< FP8: accumulate in the tensor core's short registers
  bool tune = false;       ///< time the candidates instead of taking the first
};

/// FP8 products are written as BF16, TF32 ones as FP32, others in their own type.
Dtype output_dtype(Dtype dtype);

/// Standard deviation of A's and B's values: normal data for FP8 fills most of the type's range
/// without saturating. The product is scaled back by dequant_scale per operand.
double operand_scale(Dtype dtype);
double dequant_scale(Dtype dtype);

bool is_fp8(Dtype dtype);

/// Throws ConfigError E_SIZE_OVERFLOW where a size does not fit 64 bits.
std::vector<Operand> gemm_operands(const GemmProblem& problem);

/// Bound on |out - ref| / (|ref| + rms(ref)) for a correct provider.
double gemm_tolerance(const GemmProblem& problem);

Epilogue parse_epilogue(const std::string& text);

}  // namespace gpubench
