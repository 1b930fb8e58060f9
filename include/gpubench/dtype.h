// SPDX-License-Identifier: Apache-2.0
// Element types by the names users type (`dtype=bf16`), and exact host conversions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gpubench {

/// `tf32` is FP32 storage computed on TF32 tensor cores; `fp8` alone means E4M3 (finite-only, max
/// 448). `int32` is what INT8 products are summed in.
enum class Dtype { fp64, fp32, tf32, fp16, bf16, fp8_e4m3, fp8_e5m2, int8, int32 };

/// "fp32", "tf32", "fp16", "bf16", "fp8" (E4M3), "fp8_e5m2", "int8", "int32", "fp64".
std::string_view to_string(Dtype dtype);
/// Throws ConfigError with the nearest name.
Dtype parse_dtype(std::string_view name);
/// Bytes of one element in memory (tf32: 4).
std::size_t storage_bytes(Dtype dtype);
/// Key of the peak in `spec.dense_tflops` ("fp8" for both FP8 kinds).
std::string_view peak_key(Dtype dtype);
/// Unit round-off 2^-(mantissa bits + 1): fp32 2^-24, tf32 2^-11, fp16 2^-11, bf16 2^-8, e4m3 2^-4,
/// e5m2 2^-3, fp64 2^-53; integers are exact: 0.
double unit_roundoff(Dtype dtype);

/// `value` rounded to nearest-even in `dtype` and widened again; saturates for FP8 and integers.
/// NaN stays NaN.
float round_to(Dtype dtype, float value);
/// Bit pattern of `value` in `dtype` (fp32/tf32/int32 32 bits, fp16/bf16 16, fp8/int8 8), rounded
/// as round_to does. FP64 has none.
std::uint32_t encode(Dtype dtype, float value);
/// Inverse of encode, to the nearest FP32; every NaN pattern of the type decodes to NaN.
float decode(Dtype dtype, std::uint32_t bits);

}  // namespace gpubench
