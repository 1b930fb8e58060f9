// SPDX-License-Identifier: Apache-2.0
// Every bit pattern of the small types, and rounding against an independent slow method.
#include "gpubench/dtype.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "gpubench/error.h"

namespace gpubench {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// What the tests know of a type, written down apart from the code under test.
struct Facts {
  Dtype dtype;
  int mantissa_bits;
  int min_exponent;
  double max;
  bool saturates;
};
const std::vector<Facts> kFacts{{Dtype::tf32, 10, -126, 0x1.ffcp+127, false},
                                {Dtype::fp16, 10, -14, 65504, false},
                                {Dtype::bf16, 7, -126, 0x1.fep+127, false},
                                {Dtype::fp8_e4m3, 3, -6, 448, true},
                                {Dtype::fp8_e5m2, 2, -14, 57344, true}};

/// Nearest multiple of the type's step at `value`, ties to the even multiple: plain arithmetic in
/// double.
double slow_round(const Facts& facts, double value) {
  if (value == 0 || std::isnan(value)) return value;
  double result = std::fabs(value);
  if (std::isfinite(result)) {
    int exponent = 0;
    std::frexp(result, &exponent);  // value = f 2^exponent with f in [0.5, 1)
    const double step =
        std::ldexp(1.0, std::max(exponent - 1, facts.min_exponent) - facts.mantissa_bits);
    const double steps = result / step;
    double whole = std::floor(steps);
    const double rest = steps - whole;
    if (rest > 0.5 || (rest == 0.5 && std::fmod(whole, 2.0) == 1.0)) whole += 1;
    result = whole * step;
  }
  if (result > facts.max) {
    result = facts.saturates ? facts.max : std::numeric_limits<double>::infinity();
  }
  return std::copysign(result, value);
}

void expect_same(Dtype dtype, float input, double expected) {
  const float rounded = round_to(dtype, input);
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(rounded));
    return;
  }
  EXPECT_EQ(static_cast<double>(rounded), expected) << to_string(dtype) << " of " << input;
  EXPECT_EQ(std::signbit(rounded), std::signbit(expected)) << to_string(dtype) << " of " << input;
  EXPECT_EQ(decode(dtype, encode(dtype, input)), rounded) << to_string(dtype) << " of " << input;
}

/// The value of a pattern from the definition of the format.
double pattern_value(std::uint32_t bits, int exponent_bits, int mantissa_bits, int bias) {
  const std::uint32_t mantissa = bits & ((1u << mantissa_bits) - 1);
  const int exponent = static_cast<int>(bits >> mantissa_bits & ((1u << exponent_bits) - 1));
  const double fraction = mantissa * std::pow(2.0, -mantissa_bits);
  const double size = exponent == 0 ? fraction * std::pow(2.0, 1 - bias)
                                    : (1 + fraction) * std::pow(2.0, exponent - bias);
  return bits >> (exponent_bits + mantissa_bits) & 1 ? -size : size;
}

TEST(Dtype, Fp16Patterns) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = decode(Dtype::fp16, bits);
    if ((bits & 0x7c00) == 0x7c00 && (bits & 0x3ff) != 0) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_TRUE(std::isnan(decode(Dtype::fp16, encode(Dtype::fp16, value)))) << bits;
      continue;
    }
    if ((bits & 0x7fff) == 0x7c00) {
      ASSERT_EQ(value, bits & 0x8000 ? -kInfinity : kInfinity);
    } else {
      ASSERT_EQ(value, pattern_value(bits, 5, 10, 15)) << bits;
    }
    ASSERT_EQ(encode(Dtype::fp16, value), bits);
  }
}

TEST(Dtype, Bf16Patterns) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = decode(Dtype::bf16, bits);
    if ((bits & 0x7f80) == 0x7f80 && (bits & 0x7f) != 0) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_TRUE(std::isnan(decode(Dtype::bf16, encode(Dtype::bf16, value)))) << bits;
      continue;
    }
    if ((bits & 0x7fff) != 0x7f80) {
      ASSERT_EQ(value, pattern_value(bits, 8, 7, 127)) << bits;
    }
    ASSERT_EQ(encode(Dtype::bf16, value), bits);
  }
}

TEST(Dtype, E4m3Patterns) {
  for (std::uint32_t bits = 0; bits < 0x100; ++bits) {
    const float value = decode(Dtype::fp8_e4m3, bits);
    if ((bits & 0x7f) == 0x7f) {
      ASSERT_TRUE(std::isnan(value));
      ASSERT_TRUE(std::isnan(decode(Dtype::fp8_e4m3, encode(Dtype::fp8_e4m3, value))));
      continue;
    }
    ASSERT_EQ(value, pattern_value(bits, 4, 3, 7)) << bits;
    ASSERT_EQ(encode(Dtype::fp8_e4m3, value), bits);
  }
  EXPECT_EQ(decode(Dtype::fp8_e4m3, 0x7e), 448.f);
  EXPECT_EQ(decode(Dtype::fp8_e4m3, 0x01), 0x1p-9f);
}

TEST(Dtype, E5m2Patterns) {
  for (std::uint32_t bits = 0; bits < 0x100; ++bits) {
    const float value = decode(Dtype::fp8_e5m2, bits);
    if ((bits & 0x7f) > 0x7c) {
      ASSERT_TRUE(std::isnan(value));
      ASSERT_TRUE(std::isnan(decode(Dtype::fp8_e5m2, encode(Dtype::fp8_e5m2, value))));
    } else if ((bits & 0x7f) == 0x7c) {
      ASSERT_TRUE(std::isinf(value));  // decodes, but encoding saturates
      ASSERT_EQ(encode(Dtype::fp8_e5m2, value), bits - 1);
    } else {
      ASSERT_EQ(value, pattern_value(bits, 5, 2, 15)) << bits;
      ASSERT_EQ(encode(Dtype::fp8_e5m2, value), bits);
    }
  }
}

TEST(Dtype, Int8Patterns) {
  for (int value = -128; value <= 127; ++value) {
    const auto bits = static_cast<std::uint32_t>(value) & 0xff;
    EXPECT_EQ(encode(Dtype::int8, static_cast<float>(value)), bits);
    EXPECT_EQ(decode(Dtype::int8, bits), static_cast<float>(value));
  }
  EXPECT_EQ(round_to(Dtype::int8, 2.5f), 2.f);
  EXPECT_EQ(round_to(Dtype::int8, 1e9f), 127.f);
  EXPECT_EQ(round_to(Dtype::int8, -kInfinity), -128.f);
}

TEST(Dtype, Int32Patterns) {
  for (const int value : {0, 1, -1, 16777216, -16777216, 1 << 30}) {
    EXPECT_EQ(encode(Dtype::int32, static_cast<float>(value)), static_cast<std::uint32_t>(value));
    EXPECT_EQ(decode(Dtype::int32, static_cast<std::uint32_t>(value)), static_cast<float>(value));
  }
  EXPECT_EQ(round_to(Dtype::int32, -2.5f), -2.f);
  EXPECT_EQ(encode(Dtype::int32, kInfinity), 0x7fffff80u);
  EXPECT_EQ(encode(Dtype::int32, -kInfinity), 0x80000000u);
  EXPECT_EQ(unit_roundoff(Dtype::int32), 0);
}

TEST(Dtype, RoundsRandomFloatsLikeTheSlowMethod) {
  std::mt19937 random(7);
  for (const Facts& facts : kFacts) {
    for (int i = 0; i < 100000; ++i) {
      const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
      expect_same(facts.dtype, value, slow_round(facts, value));
    }
    std::normal_distribution<float> normal(0, std::ldexp(1.f, facts.min_exponent / 2));
    for (int i = 0; i < 20000; ++i) {
      const float value = normal(random);
      expect_same(facts.dtype, value, slow_round(facts, value));
    }
  }
}

TEST(Dtype, RoundsTiesAndTheirNeighbours) {
  for (const Facts& facts : kFacts) {
    const int patterns = 1 << std::min(14, facts.mantissa_bits + 5);
    for (int i = 0; i < patterns; ++i) {
      // Subnormals and the first binades above them; then around 1.
      for (const double base : {0.0, 1.0}) {
        const double step =
            std::ldexp(1.0, (base == 0 ? facts.min_exponent : 0) - facts.mantissa_bits);
        const auto tie = static_cast<float>(base + (i + 0.5) * step);
        for (const float value :
             {tie, std::nextafter(tie, 0.f), std::nextafter(tie, kInfinity), -tie}) {
          expect_same(facts.dtype, value, slow_round(facts, value));
        }
      }
    }
  }
}

TEST(Dtype, EdgesOfTheRange) {
  EXPECT_EQ(round_to(Dtype::fp16, 65519.99f), 65504.f);
  EXPECT_EQ(round_to(Dtype::fp16, 65520.f), kInfinity);  // the tie goes to the even neighbour, 2^16
  EXPECT_EQ(round_to(Dtype::fp16, -1e9f), -kInfinity);
  EXPECT_EQ(round_to(Dtype::fp16, 0x1p-25f), 0.f);
  EXPECT_EQ(round_to(Dtype::fp16, std::nextafter(0x1p-25f, 1.f)), 0x1p-24f);
  EXPECT_EQ(round_to(Dtype::bf16, std::numeric_limits<float>::max()), kInfinity);
  EXPECT_EQ(round_to(Dtype::tf32, std::numeric_limits<float>::max()), kInfinity);
  EXPECT_EQ(round_to(Dtype::fp8_e4m3, 464.f), 448.f);
  EXPECT_EQ(round_to(Dtype::fp8_e4m3, -kInfinity), -448.f);
  EXPECT_EQ(round_to(Dtype::fp8_e5m2, 1e9f), 57344.f);
  EXPECT_TRUE(std::signbit(round_to(Dtype::fp8_e4m3, -0.f)));
  EXPECT_EQ(encode(Dtype::fp8_e4m3, -0.f), 0x80u);
  for (const Facts& facts : kFacts) {
    EXPECT_TRUE(std::isnan(round_to(facts.dtype, kNan)));
    EXPECT_TRUE(std::isnan(decode(facts.dtype, encode(facts.dtype, -kNan))));
  }
  // A NaN whose payload sits in the bits that bf16 drops.
  const auto low_nan = std::bit_cast<float>(0x7f800001u);
  EXPECT_TRUE(std::isnan(decode(Dtype::bf16, encode(Dtype::bf16, low_nan))));
}

TEST(Dtype, UnitRoundoffIsTheWorstRelativeError) {
  for (const Facts& facts : kFacts) {
    double worst = 0;
    for (int i = 0; i < 65536; ++i) {
      const double value = 1 + i / 65536.0;
      const double rounded = round_to(facts.dtype, static_cast<float>(value));
      worst = std::max(worst, std::fabs(rounded - value) / value);
    }
    EXPECT_LE(worst, unit_roundoff(facts.dtype)) << to_string(facts.dtype);
    EXPECT_GE(worst, 0.8 * unit_roundoff(facts.dtype)) << to_string(facts.dtype);
  }
}

TEST(Dtype, Names) {
  for (const Dtype dtype : {Dtype::fp64, Dtype::fp32, Dtype::tf32, Dtype::fp16, Dtype::bf16,
                            Dtype::fp8_e4m3, Dtype::fp8_e5m2, Dtype::int8, Dtype::int32}) {
    EXPECT_EQ(parse_dtype(to_string(dtype)), dtype);
  }
  EXPECT_EQ(to_string(Dtype::fp8_e4m3), "fp8");
  EXPECT_EQ(peak_key(Dtype::fp8_e5m2), "fp8");
  EXPECT_EQ(peak_key(Dtype::tf32), "tf32");
  EXPECT_EQ(storage_bytes(Dtype::tf32), 4u);
  EXPECT_EQ(storage_bytes(Dtype::fp8_e5m2), 1u);
  try {
    parse_dtype("bf61");
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'bf16'"), std::string::npos);
  }
  EXPECT_THROW(encode(Dtype::fp64, 1.f), Error);
}

}  // namespace
}  // namespace gpubench
