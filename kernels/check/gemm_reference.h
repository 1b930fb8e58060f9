// SPDX-License-Identifier: Apache-2.0
// Matrix products in double, to verify GEMM providers: every element, or for products too large for
// that a projection (Freivalds) plus samples. Products of FP64 are summed in twice that precision,
// since a sum in double would be no better than what it checks. Independent of every provider's
// code. `stream` is a cudaStream_t.
#pragma once

#include <cstdint>

#include "gpubench/dtype.h"
#include "kernels/check/gemm_sampling.h"

namespace gpubench {

/// Element (row, column) of matrix b of a batch is at b * batch_stride + row * row_stride +
/// column * column_stride.
struct MatrixView {
  const void* data = nullptr;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
  std::int64_t batch_stride = 0;
};

/// C[m][n] = gelu(x), x = alpha A[m][k] B[k][n] + bias[n] + residual[m][n], for each matrix of the
/// batch; C and residual are row-major without padding, their matrices one after the other. The
/// bias is the same for all.
struct GemmReference {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  Dtype a_dtype = Dtype::fp32, b_dtype = Dtype::fp32;
  MatrixView a, b;
  const void* bias = nullptr;      ///< nullptr: none
  const void* residual = nullptr;  ///< nullptr: none
  Dtype bias_dtype = Dtype::fp32;  ///< of the residual, too
  double alpha = 1;
  bool gelu = false;  ///< else C = x; tanh form: 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
};

/// Every element, rounded to the output's type at the end; x into `aux` unless that is nullptr.
/// INT8 products are exact in FP64: sums of integers far below 2^53.
void launch_gemm_reference(void* stream, const GemmReference& problem, float* out,
                           float* aux = nullptr);
void launch_gemm_reference(void* stream, const GemmReference& problem, double* out,
                           double* aux = nullptr);

/// Linear problems only (no gelu). For each row and each group of columns: the weighted sum of the
/// given C into `projected`, and what it should be, A (B r) + bias r + residual r in double, into
/// `reference`; both [batch][m][projection_groups(n)]. `scratch`: (batch * k + 1) *
/// projection_groups(n) doubles.
void launch_gemm_projection(void* stream, const GemmReference& problem, const void* c,
                            Dtype c_dtype, std::uint64_t seed, double* scratch, double* projected,
                            double* reference);

/// One element at a seeded position of each tile: the given C's into `sampled`, what it should be
/// into `reference`; both of batch * sample_count(m, n) values.
void launch_gemm_samples(void* stream, const GemmReference& problem, const void* c, Dtype c_dtype,
                         std::uint64_t seed, double* sampled, double* reference);

}  // namespace gpubench
