// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/sm90a/half_table.cuh"

namespace gpubench::sm90a {

std::span<const Kernel> bf16_kernels(bool a_k_contiguous, bool b_k_contiguous) {
  return half_kernels<WgmmaBf16, __nv_bfloat16>(a_k_contiguous, b_k_contiguous);
}

}  // namespace gpubench::sm90a
