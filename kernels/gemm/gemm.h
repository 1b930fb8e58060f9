// SPDX-License-Identifier: Apache-2.0
// Own matrix kernels: C[m][n] = epilogue(scale * A[m][k] B[k][n]), accumulated in FP32 (INT8: in
// INT32). Launchers return at once; `stream` is a cudaStream_t. Pointers are on the device,
// matrices without padding between rows, in the layouts of GemmProblem.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gpubench {

/// Types of A and B; what comes out: bf16, fp16 their own, tf32 FP32, fp8 BF16, int8 INT32.
/// fp8_e5m2 is an E5M2 A by an E4M3 B.
enum class GemmType { bf16, fp16, tf32, fp8_e4m3, fp8_e5m2, int8 };

/// On x = scale * A B, in FP32, from registers, before the one rounding to C's type.
enum class GemmEpilogue {
  none,           ///< x
  bias,           ///< x + bias[n]
  bias_gelu,      ///< gelu(x + bias[n]), tanh form
  bias_gelu_aux,  ///< the same, and x + bias[n] stored in aux[m][n] for the backward pass
  bias_residual   ///< x + bias[n] + residual[m][n]
};

struct GemmArguments {
  GemmType type = GemmType::bf16;
  GemmEpilogue epilogue = GemmEpilogue::none;
  bool a_k_contiguous = true;  ///< A[m][k], else A[k][m]
  bool b_k_contiguous = true;  ///< B[n][k], else B[k][n]
  bool promote = false;        ///< fp8: add the tensor core's short sums into FP32 registers
  std::int64_t m = 0, n = 0, k = 0;
  float scale = 1;
  const void* a = nullptr;
  const void* b = nullptr;
  const void* bias = nullptr;      ///< n elements of C's type
  const void* residual = nullptr;  ///< [m][n] of C's type
  void* aux = nullptr;             ///< [m][n] of C's type
  void* c = nullptr;
  void* workspace = nullptr;  ///< what the configuration asks for
};

/// One way to run a problem.
struct GemmConfig {
  std::string name;  ///< "128x256x64, 4 stages, cluster 2x1": tile, depth, what else differs
  int index = 0;     ///< the launcher's own number for it
  std::size_t workspace_bytes = 0;
};

}  // namespace gpubench
