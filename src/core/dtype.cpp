// SPDX-License-Identifier: Apache-2.0
#include "gpubench/dtype.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gpubench/error.h"
#include "util/text.h"

namespace gpubench {
namespace {

/// How a type lays out its bits. FP32's exponent range is shared by tf32 and bf16.
struct Format {
  int mantissa_bits;
  int bias;
  int min_exponent;  ///< of a normal number
  float max;         ///< largest finite value
  bool saturates;    ///< what is larger becomes max; else infinity
};

constexpr Format kTf32{10, 127, -126, 0x1.ffcp+127f, false};
constexpr Format kFp16{10, 15, -14, 65504.f, false};
constexpr Format kBf16{7, 127, -126, 0x1.fep+127f, false};
constexpr Format kE4m3{3, 7, -6, 448.f, true};      // finite-only: S.1111.111 is NaN, no infinity
constexpr Format kE5m2{2, 15, -14, 57344.f, true};  // S.11111.00 is infinity, never produced here

struct Name {
  Dtype dtype;
  std::string_view text;
};
constexpr std::array<Name, 9> kNames{{{Dtype::fp64, "fp64"},
                                      {Dtype::fp32, "fp32"},
                                      {Dtype::tf32, "tf32"},
                                      {Dtype::fp16, "fp16"},
                                      {Dtype::bf16, "bf16"},
                                      {Dtype::fp8_e4m3, "fp8"},
                                      {Dtype::fp8_e5m2, "fp8_e5m2"},
                                      {Dtype::int8, "int8"},
                                      {Dtype::int32, "int32"}}};

constexpr std::uint32_t kSign = 0x80000000u;

/// Round to nearest-even on the bits of a float: exact, and quick enough for whole matrices.
float round_format(const Format& format, float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits & kSign;
  std::uint32_t magnitude = bits & ~kSign;
  if (magnitude > 0x7f800000u) return value;
  float rounded;
  if (format.min_exponent > -126 && std::fabs(value) < std::ldexp(1.f, format.min_exponent)) {
    // Below the normal range the step is constant: the FP32 adder rounds to it, nearest-even,
    // beside a number whose last place is that step.
    const float aligned = std::ldexp(1.f, format.min_exponent - format.mantissa_bits + 23);
    rounded = (std::fabs(value) + aligned) - aligned;
  } else {
    const int dropped = 23 - format.mantissa_bits;
    magnitude += (1u << (dropped - 1)) - 1 + ((magnitude >> dropped) & 1u);
    magnitude &= ~((1u << dropped) - 1);
    rounded = std::bit_cast<float>(magnitude);
  }
  if (rounded > format.max) {
    rounded = format.saturates ? format.max : std::numeric_limits<float>::infinity();
  }
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(rounded) | sign);
}

/// Bits of a value that `format` holds exactly, in a type of 1 + exponent_bits + mantissa_bits
/// bits.
std::uint32_t pack(const Format& format, int exponent_bits, std::uint32_t nan, float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 31) << (exponent_bits + format.mantissa_bits);
  const float size = std::fabs(value);
  if (std::isnan(value)) return sign | nan;
  if (std::isinf(value)) return sign | ((1u << exponent_bits) - 1) << format.mantissa_bits;
  if (size < std::ldexp(1.f, format.min_exponent)) {
    return sign |
           static_cast<std::uint32_t>(std::ldexp(size, format.mantissa_bits - format.min_exponent));
  }
  const auto exponent =
      static_cast<std::uint32_t>(static_cast<int>((bits >> 23) & 0xff) - 127 + format.bias);
  const std::uint32_t mantissa = (bits & 0x7fffffu) >> (23 - format.mantissa_bits);
  return sign | exponent << format.mantissa_bits | mantissa;
}

float unpack(const Format& format, int exponent_bits, bool has_infinity, std::uint32_t bits) {
  const std::uint32_t exponent_mask = (1u << exponent_bits) - 1;
  const std::uint32_t mantissa_mask = (1u << format.mantissa_bits) - 1;
  const std::uint32_t exponent = (bits >> format.mantissa_bits) & exponent_mask;
  const std::uint32_t mantissa = bits & mantissa_mask;
  const float sign = (bits >> (exponent_bits + format.mantissa_bits)) & 1u ? -1.f : 1.f;
  if (exponent == exponent_mask) {
    if (has_infinity) {
      return mantissa == 0 ? sign * std::numeric_limits<float>::infinity()
                           : std::numeric_limits<float>::quiet_NaN();
    }
    if (mantissa == mantissa_mask) return std::numeric_limits<float>::quiet_NaN();
  }
  const std::uint32_t hidden = exponent == 0 ? 0 : mantissa_mask + 1;
  const int power = exponent == 0 ? format.min_exponent : static_cast<int>(exponent) - format.bias;
  return sign * std::ldexp(static_cast<float>(hidden + mantissa), power - format.mantissa_bits);
}

float round_int8(float value) {
  if (std::isnan(value)) return value;
  return std::fmin(127.f, std::fmax(-128.f, std::nearbyint(value)));
}

float round_int32(float value) {
  if (std::isnan(value)) return value;
  // The largest FP32 below 2^31.
  return std::fmin(2147483520.f, std::fmax(-2147483648.f, std::nearbyint(value)));
}

[[noreturn]] void no_pattern(Dtype dtype) {
  throw Error("E_DTYPE", "no 32-bit pattern for " + std::string(to_string(dtype)));
}

}  // namespace

std::string_view to_string(Dtype dtype) {
  for (const Name& name : kNames) {
    if (name.dtype == dtype) return name.text;
  }
  return "unknown";
}

Dtype parse_dtype(std::string_view text) {
  std::vector<std::string> known;
  for (const Name& name : kNames) {
    if (name.text == text) return name.dtype;
    known.emplace_back(name.text);
  }
  throw ConfigError("unknown type '" + std::string(text) + "'" + suggestion(text, known) +
                    " (known: " + join(known, ", ") + ")");
}

std::size_t storage_bytes(Dtype dtype) {
  switch (dtype) {
    case Dtype::fp64:
      return 8;
    case Dtype::fp32:
    case Dtype::tf32:
    case Dtype::int32:
      return 4;
    case Dtype::fp16:
    case Dtype::bf16:
      return 2;
    case Dtype::fp8_e4m3:
    case Dtype::fp8_e5m2:
    case Dtype::int8:
      return 1;
  }
  return 0;
}

std::string_view peak_key(Dtype dtype) {
  return dtype == Dtype::fp8_e5m2 ? to_string(Dtype::fp8_e4m3) : to_string(dtype);
}

double unit_roundoff(Dtype dtype) {
  switch (dtype) {
    case Dtype::fp64:
      return 0x1p-53;
    case Dtype::fp32:
      return 0x1p-24;
    case Dtype::tf32:
    case Dtype::fp16:
      return 0x1p-11;
    case Dtype::bf16:
      return 0x1p-8;
    case Dtype::fp8_e4m3:
      return 0x1p-4;
    case Dtype::fp8_e5m2:
      return 0x1p-3;
    case Dtype::int8:
    case Dtype::int32:
      return 0;  // integers: exact
  }
  return 0;
}

float round_to(Dtype dtype, float value) {
  switch (dtype) {
    case Dtype::fp64:
    case Dtype::fp32:
      return value;
    case Dtype::tf32:
      return round_format(kTf32, value);
    case Dtype::fp16:
      return round_format(kFp16, value);
    case Dtype::bf16:
      return round_format(kBf16, value);
    case Dtype::fp8_e4m3:
      return round_format(kE4m3, value);
    case Dtype::fp8_e5m2:
      return round_format(kE5m2, value);
    case Dtype::int8:
      return round_int8(value);
    case Dtype::int32:
      return round_int32(value);
  }
  return value;
}

std::uint32_t encode(Dtype dtype, float value) {
  const float rounded = round_to(dtype, value);
  switch (dtype) {
    case Dtype::fp32:
    case Dtype::tf32:
      return std::bit_cast<std::uint32_t>(rounded);
    case Dtype::fp16:
      return pack(kFp16, 5, 0x7e00u, rounded);
    case Dtype::bf16:
      // bf16 is the upper half of a float; a NaN whose payload is only in the lower half stays one.
      return std::bit_cast<std::uint32_t>(rounded) >> 16 | (std::isnan(rounded) ? 0x40u : 0u);
    case Dtype::fp8_e4m3:
      return pack(kE4m3, 4, 0x7fu, rounded);
    case Dtype::fp8_e5m2:
      return pack(kE5m2, 5, 0x7fu, rounded);
    case Dtype::int8:
      return std::isnan(rounded) ? 0u
                                 : static_cast<std::uint32_t>(static_cast<int>(rounded)) & 0xffu;
    case Dtype::int32:
      return std::isnan(rounded) ? 0u : static_cast<std::uint32_t>(static_cast<int>(rounded));
    case Dtype::fp64:
      break;
  }
  no_pattern(dtype);
}

float decode(Dtype dtype, std::uint32_t bits) {
  switch (dtype) {
    case Dtype::fp32:
    case Dtype::tf32:
      return std::bit_cast<float>(bits);
    case Dtype::fp16:
      return unpack(kFp16, 5, true, bits);
    case Dtype::bf16:
      return std::bit_cast<float>(bits << 16);
    case Dtype::fp8_e4m3:
      return unpack(kE4m3, 4, false, bits);
    case Dtype::fp8_e5m2:
      return unpack(kE5m2, 5, true, bits);
    case Dtype::int8:
      return static_cast<float>(static_cast<std::int8_t>(bits & 0xffu));
    case Dtype::int32:
      return static_cast<float>(static_cast<std::int32_t>(bits));
    case Dtype::fp64:
      break;
  }
  no_pattern(dtype);
}

}  // namespace gpubench
