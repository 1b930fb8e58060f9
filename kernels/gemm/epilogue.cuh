// SPDX-License-Identifier: Apache-2.0
// What happens to a sum of products before it is rounded to C's type, in FP32.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "kernels/common/gelu.cuh"
#include "kernels/gemm/gemm.h"

namespace gpubench {

__host__ __device__ constexpr bool has_bias(GemmEpilogue epilogue) {
  return epilogue != GemmEpilogue::none;
}
__host__ __device__ constexpr bool has_gelu(GemmEpilogue epilogue) {
  return epilogue == GemmEpilogue::bias_gelu || epilogue == GemmEpilogue::bias_gelu_aux;
}

__device__ inline float apply_gelu(float x, bool short_form) {
  return short_form ? gelu_short(x) : gelu_long(x);
}

/// Two results as stored, the first in the low half, and back.
template <class T>
__device__ std::uint32_t pack_pair(float x, float y);
template <>
__device__ inline std::uint32_t pack_pair<__nv_bfloat16>(float x, float y) {
  std::uint32_t packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(y), "f"(x));
  return packed;
}
template <>
__device__ inline std::uint32_t pack_pair<__half>(float x, float y) {
  std::uint32_t packed;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(y), "f"(x));
  return packed;
}

template <class T>
__device__ float2 unpack_pair(std::uint32_t packed);
template <>
__device__ inline float2 unpack_pair<__nv_bfloat16>(std::uint32_t packed) {
  return make_float2(__uint_as_float(packed << 16), __uint_as_float(packed & 0xffff0000u));
}
template <>
__device__ inline float2 unpack_pair<__half>(std::uint32_t packed) {
  const __half low = __ushort_as_half(static_cast<unsigned short>(packed & 0xffffu));
  const __half high = __ushort_as_half(static_cast<unsigned short>(packed >> 16));
  return make_float2(__half2float(low), __half2float(high));
}

}  // namespace gpubench
