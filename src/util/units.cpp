// SPDX-License-Identifier: Apache-2.0
#include "util/units.h"

#include <charconv>
#include <cmath>
#include <string>
#include <system_error>

#include "gpubench/error.h"

namespace gpubench {
namespace {

/// 2^shift for a suffix such as "", "K", "Ki", "KiB"; -1 if it is none. "KB" would be 1000:
/// refused.
int suffix_shift(std::string_view suffix) {
  if (suffix.empty()) return 0;
  int shift = -1;
  switch (suffix.front()) {
    case 'K':
    case 'k':
      shift = 10;
      break;
    case 'M':
      shift = 20;
      break;
    case 'G':
      shift = 30;
      break;
    case 'T':
      shift = 40;
      break;
    default:
      return -1;
  }
  const std::string_view rest = suffix.substr(1);
  return rest.empty() || rest == "iB" ? shift : -1;
}

}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{}) return std::nullopt;
  const int shift = suffix_shift({rest, static_cast<std::size_t>(end - rest)});
  if (shift < 0) return std::nullopt;
  std::int64_t result = 0;
  if (__builtin_mul_overflow(value, std::int64_t{1} << shift, &result)) return std::nullopt;
  return result;
}

std::optional<double> parse_real(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || rest != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::uint64_t checked_mul(std::initializer_list<std::uint64_t> factors) {
  std::uint64_t product = 1;
  for (const std::uint64_t factor : factors) {
    if (__builtin_mul_overflow(product, factor, &product)) {
      throw ConfigError("the sizes multiply to more than 2^64; use smaller ones",
                        "E_SIZE_OVERFLOW");
    }
  }
  return product;
}

std::uint64_t checked_add(std::initializer_list<std::uint64_t> terms) {
  std::uint64_t sum = 0;
  for (const std::uint64_t term : terms) {
    if (__builtin_add_overflow(sum, term, &sum)) {
      throw ConfigError("the sizes add up to more than 2^64; use smaller ones", "E_SIZE_OVERFLOW");
    }
  }
  return sum;
}

}  // namespace gpubench
