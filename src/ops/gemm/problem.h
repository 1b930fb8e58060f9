// SPDX-License-Identifier: Apache-2.0
// The matrix product C[m][n] = epilogue(A[m][k] B[k][n]) that every GEMM provider computes, once or
// for each matrix of a batch. Operands in this order: A, B, [bias of n elements], C; the matrices
// of a batch one after the other, one bias for all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpubench/dtype.h"
#include "gpubench/provider.h"
#include "ops/support/operands.h"

namespace gpubench {

/// Bytes that a provider may ask for: enough for split-K; frameworks allow 32 MiB on Hopper.
constexpr std::uint64_t kMostGemmWorkspace = 64ull << 20;

enum class Epilogue { none, bias, bias_gelu };  // gelu: the tanh form

/// Layout letters as BLAS gives them for column-major matrices: 't' first is A[m][k], 'n' first
/// A[k][m]; 'n' second is B[n][k], 't' second B[k][n], the last index contiguous. C is always
/// C[m][n]. So "tn", which FP8 needs, has k contiguous in both.
struct GemmProblem {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  Dtype dtype = Dtype::bf16;
  bool a_k_contiguous = true;  ///< first letter 't'
  bool b_k_contiguous = true;  ///< second letter 'n'
  Epilogue epilogue = Epilogue::none;
  bool fast_accum = true;  ///< FP8: accumulate in the tensor core's short registers
  bool tune = false;       ///< time the candidates instead of taking the first
};

/// FP8 products are written as BF16, TF32 ones as FP32, INT8 ones as INT32, others in their own
/// type.
Dtype output_dtype(Dtype dtype);
/// `dtype` itself, but for E5M2: that multiplies a gradient in E5M2, A, with weights or activations
/// in E4M3, B, as FP8 training does. No tensor core library multiplies two E5M2 matrices.
Dtype a_dtype(Dtype dtype);
Dtype b_dtype(Dtype dtype);
/// Key of the datasheet's peak. Libraries compute FP64 on tensor cores where there are any for it.
std::string_view gemm_peak_key(const DeviceInfo& device, Dtype dtype);

/// Standard deviation of A's and B's values: normal data for FP8 and INT8 fills most of E4M3's and
/// INT8's range without saturating. FP8 products are scaled back by dequant_scale per operand.
double operand_scale(Dtype dtype);
double dequant_scale(Dtype dtype);

bool is_fp8(Dtype dtype);

/// Throws ConfigError E_SIZE_OVERFLOW where a size does not fit 64 bits.
std::vector<Operand> gemm_operands(const GemmProblem& problem);

/// Bound on |out - ref| / (|ref| + rms(ref)) for a correct provider; 0 for INT8, which is exact.
double gemm_tolerance(const GemmProblem& problem);
/// The same for sums of k products in FP64, whatever their order.
double fp64_sum_tolerance(double k);

/// What no provider computes: INT8 with an epilogue, or with sums that INT32 can't hold.
Support gemm_support(const GemmProblem& problem);

Epilogue parse_epilogue(const std::string& text);

}  // namespace gpubench
