// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/sm90a/half_table.cuh"

namespace gpubench::sm90a {

std::span<const Kernel> fp16_kernels(bool a_k_contiguous, bool b_k_contiguous) {
  return half_kernels<WgmmaFp16, __half>(a_k_contiguous, b_k_contiguous);
}

}  // namespace gpubench::sm90a
