// SPDX-License-Identifier: Apache-2.0
// Storage types by Dtype, and conversions to and from FP32 (round to nearest even, FP8 saturating).
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>
#include <string>

#include "gpubench/dtype.h"
#include "gpubench/error.h"

namespace gpubench {

__device__ inline float to_float(float value) { return value; }
__device__ inline float to_float(__half value) { return __half2float(value); }
__device__ inline float to_float(__nv_bfloat16 value) { return __bfloat162float(value); }
__device__ inline float to_float(__nv_fp8_e4m3 value) { return static_cast<float>(value); }
__device__ inline float to_float(__nv_fp8_e5m2 value) { return static_cast<float>(value); }

__device__ inline double to_double(double value) { return value; }
__device__ inline double to_double(std::int8_t value) { return value; }
__device__ inline double to_double(std::int32_t value) { return value; }
template <class T>
__device__ double to_double(T value) {
  return static_cast<double>(to_float(value));
}

template <class T>
__device__ T from_float(float value);
template <>
__device__ inline float from_float<float>(float value) {
  return value;
}
template <>
__device__ inline __half from_float<__half>(float value) {
  return __float2half_rn(value);
}
template <>
__device__ inline __nv_bfloat16 from_float<__nv_bfloat16>(float value) {
  return __float2bfloat16_rn(value);
}
template <>
__device__ inline __nv_fp8_e4m3 from_float<__nv_fp8_e4m3>(float value) {
  return __nv_fp8_e4m3(value);
}
template <>
__device__ inline __nv_fp8_e5m2 from_float<__nv_fp8_e5m2>(float value) {
  return __nv_fp8_e5m2(value);
}

template <>
__device__ inline std::int8_t from_float<std::int8_t>(float value) {
  return static_cast<std::int8_t>(fminf(127.f, fmaxf(-128.f, rintf(value))));
}

template <class T>
struct StorageType {
  using type = T;
};

/// Calls `function(StorageType<T>{})` for the floating type of at most 32 bits that `dtype` is
/// stored as on a GPU.
template <class Function>
void with_storage(Dtype dtype, Function&& function) {
  switch (dtype) {
    case Dtype::fp32:
    case Dtype::tf32:
      return function(StorageType<float>{});
    case Dtype::fp16:
      return function(StorageType<__half>{});
    case Dtype::bf16:
      return function(StorageType<__nv_bfloat16>{});
    case Dtype::fp8_e4m3:
      return function(StorageType<__nv_fp8_e4m3>{});
    case Dtype::fp8_e5m2:
      return function(StorageType<__nv_fp8_e5m2>{});
    case Dtype::fp64:
    case Dtype::int8:
    case Dtype::int32:
      break;
  }
  throw Error("E_DTYPE", "no kernel for this element type");
}

}  // namespace gpubench
