// SPDX-License-Identifier: Apache-2.0
// Matrix products in double, to verify GEMM providers: every element, or for products too large for
// that a projection (Freivalds) plus samples. Independent of every provider's code. `stream` is a
// cudaStream_t.
#pragma once

#include <cstdint>

#include "gpubench/dtype.h"
#include "kernels/check/gemm_sampling.h"

namespace gpubench {

/// Element (row, column) is at row * row_stride + column * column_stride.
struct MatrixView {
  const void* data = nullptr;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
};

/// C[m][n] = epilogue(alpha A[m][k] B[k][n] + bias[n]), C row-major without padding.
struct GemmReference {
  std::int64_t m = 0, n = 0, k = 0;
  Dtype dtype = Dtype::fp32;  ///< of A and B
  MatrixView a, b;
  const void* bias = nullptr;  ///< nullptr: none
  Dtype bias_dtype = Dtype::fp32;
  double alpha = 1;
  bool gelu = false;  ///< tanh form: 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
};

/// Every element in double, rounded to FP32 at the end.
void launch_gemm_reference(void* stream, const GemmReference& problem, float* out);

/// Linear problems only (no gelu). For each row and each group of columns: the weighted sum of the
/// given C into `projected`, and what it should be, A (B r) + bias r in double, into `reference`;
/// both [m][projection_groups(n)] in FP32. `scratch`: (k + 1) * projection_groups(n) doubles.
void launch_gemm_projection(void* stream, const GemmReference& problem, const void* c,
                            Dtype c_dtype, std::uint64_t seed, double* scratch, float* projected,
                            float* reference);

/// One element at a seeded position of each tile: the given C's into `sampled`, in double into
/// `reference`; both of sample_count(m, n) values.
void launch_gemm_samples(void* stream, const GemmReference& problem, const void* c, Dtype c_dtype,
                         std::uint64_t seed, float* sampled, float* reference);

}  // namespace gpubench
