// SPDX-License-Identifier: Apache-2.0
#include "util/units.h"

#include <gtest/gtest.h>

#include <clocale>
#include <limits>

#include "gpubench/error.h"

namespace gpubench {
namespace {

TEST(ParseInteger, TakesBinarySuffixes) {
  EXPECT_EQ(parse_integer("4096"), 4096);
  EXPECT_EQ(parse_integer("4K"), 4096);
  EXPECT_EQ(parse_integer("4KiB"), 4096);
  EXPECT_EQ(parse_integer("3M"), 3 << 20);
  EXPECT_EQ(parse_integer("1GiB"), 1 << 30);
  EXPECT_EQ(parse_integer("2T"), std::int64_t{2} << 40);
  EXPECT_EQ(parse_integer("-1"), -1);
  EXPECT_EQ(parse_integer("0"), 0);
  EXPECT_EQ(parse_integer("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
}

TEST(ParseInteger, RefusesTheRest) {
  for (const char* text :
       {"", " 1", "1 ", "+1", "--1", "-", "K", "1.5", "1e3", "0x10", "4KB", "4kib", "4 K", "4Ki",
        "1,024", "9223372036854775808", "8388608T", "99999999999999999999", "nan"}) {
    EXPECT_FALSE(parse_integer(text).has_value()) << text;
  }
}

TEST(ParseReal, IsFiniteAndWhole) {
  EXPECT_EQ(parse_real("0.5"), 0.5);
  EXPECT_EQ(parse_real("-2"), -2.0);
  EXPECT_EQ(parse_real("1e-3"), 1e-3);
  for (const char* text : {"", "inf", "nan", "1e999", "1,5", "0.5s", " 1", "+1"}) {
    EXPECT_FALSE(parse_real(text).has_value()) << text;
  }
}

TEST(ParseReal, IgnoresTheLocale) {
  const std::string before = std::setlocale(LC_NUMERIC, nullptr);
  std::setlocale(LC_NUMERIC, "de_DE.UTF-8");  // where installed: a decimal comma
  EXPECT_EQ(parse_real("0.5"), 0.5);
  std::setlocale(LC_NUMERIC, before.c_str());
}

TEST(CheckedSizes, ThrowInsteadOfWrapping) {
  EXPECT_EQ(checked_mul({}), 1u);
  EXPECT_EQ(checked_mul({3, 4, 5}), 60u);
  EXPECT_EQ(checked_mul({std::uint64_t{1} << 63, 0}), 0u);
  EXPECT_EQ(checked_add({1, 2, 3}), 6u);
  try {
    checked_mul({std::uint64_t{1} << 32, std::uint64_t{1} << 32});
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.code(), "E_SIZE_OVERFLOW");
  }
  EXPECT_THROW(checked_add({~std::uint64_t{0}, 1}), ConfigError);
}

}  // namespace
}  // namespace gpubench
