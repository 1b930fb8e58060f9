// SPDX-License-Identifier: Apache-2.0
// GELU in its tanh form, fast, in FP32.
#pragma once

namespace gpubench {

/// 0.5 x (1 + tanh(u)) with the hardware's tanh, one instruction, off by at most 2^-11: for results
/// that are rounded to BF16.
__device__ inline float gelu_short(float x) {
  constexpr float kSqrt2OverPi = 0.7978845608f, kCubic = 0.044715f * kSqrt2OverPi;
  const float u = x * fmaf(kCubic, x * x, kSqrt2OverPi);
  float tanh_u;
  asm("tanh.approx.f32 %0, %1;" : "=f"(tanh_u) : "f"(u));
  const float half = 0.5f * x;
  return fmaf(half, tanh_u, half);
}

/// The same as x / (1 + exp(-2 u)), good to a few roundings of FP32: for FP16 and FP32.
__device__ inline float gelu_long(float x) {
  constexpr float kSqrt2OverPi = 0.7978845608f, kCubic = 0.044715f * kSqrt2OverPi;
  const float u = x * fmaf(kCubic, x * x, kSqrt2OverPi);
  return __fdividef(x, 1.f + __expf(-2.f * u));
}

}  // namespace gpubench
