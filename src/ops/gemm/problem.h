// SPDX-License-Identifier: Apache-2.0
// The matrix product C[m][n] = epilogue(A[m][k] B[k][n]) that every GEMM provider computes, once or
// for each matrix of a batch. Operands in this order: A, B, [bias of n elements], [residual], C,
// [aux]; the matrices of a batch one after the other, one bias for all.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gpubench/dtype.h"
#include "gpubench/provider.h"
#include "ops/support/operands.h"

namespace gpubench {

/// Bytes that a provider may ask for: enough for split-K; frameworks allow 32 MiB on Hopper.
constexpr std::uint64_t kMostGemmWorkspace = 64ull << 20;

/// On x = A B, before the rounding to C's type; gelu in its tanh form.
enum class Epilogue {
  none,           ///< x
  bias,           ///< x + bias[n]
  bias_gelu,      ///< gelu(x + bias[n])
  bias_gelu_aux,  ///< the same, and x + bias[n] in aux[m][n], which the backward pass needs
  bias_residual   ///< x + bias[n] + residual[m][n]
};

constexpr bool has_bias(Epilogue epilogue) { return epilogue != Epilogue::none; }
constexpr bool has_residual(Epilogue epilogue) { return epilogue == Epilogue::bias_residual; }
constexpr bool has_aux(Epilogue epilogue) { return epilogue == Epilogue::bias_gelu_aux; }
constexpr bool has_gelu(Epilogue epilogue) {
  return epilogue == Epilogue::bias_gelu || epilogue == Epilogue::bias_gelu_aux;
}

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

/// One set of gemm_operands() by name; nullptr for what the epilogue has not.
struct GemmPointers {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* bias = nullptr;
  const void* residual = nullptr;
  void* c = nullptr;
  void* aux = nullptr;
};
GemmPointers gemm_pointers(Epilogue epilogue, std::span<void* const> operands);

/// Bound on |out - ref| / (|ref| + rms(ref)) for a correct provider, for C and for aux; 0 for INT8,
/// which is exact.
double gemm_tolerance(const GemmProblem& problem);
/// The same for sums of k products in FP64, whatever their order.
double fp64_sum_tolerance(double k);

/// What no provider computes: INT8 with an epilogue, or with sums that INT32 can't hold.
Support gemm_support(const GemmProblem& problem);

/// In the order of the enumeration: the choices of a parameter.
std::vector<std::string> epilogue_names();
/// Throws ConfigError for any other text.
Epilogue parse_epilogue(const std::string& text);

}  // namespace gpubench
