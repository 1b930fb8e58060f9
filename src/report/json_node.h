// SPDX-License-Identifier: Apache-2.0
// A JSON value that knows where it stands, so that a wrong type is an error with its path:
// "a.json: $.results[3].time_s.median: expected a number, found a string".
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpubench {

/// Everything throws ConfigError for a value of another type. Null and missing are the same.
class JsonNode {
 public:
  /// The root; `value` and `origin` outlive the node and everything made from it.
  JsonNode(const nlohmann::json& value, std::string_view origin)
      : value_(&value), path_("$"), origin_(origin) {}

  bool is_null() const { return value_ == nullptr || value_->is_null(); }
  /// Member of an object; null where the object is null or lacks it.
  JsonNode operator[](const char* key) const;
  /// Throws where null.
  JsonNode required(const char* key) const;

  std::string text() const;           ///< empty for null
  bool boolean(bool fallback) const;  ///< `fallback` for null
  double real() const;                ///< NaN for null
  std::optional<double> optional_real() const;
  std::optional<bool> optional_boolean() const;
  template <class T>
  std::optional<T> optional_integer() const;
  template <class T>
  T integer(T fallback = 0) const {
    return optional_integer<T>().value_or(fallback);
  }

  /// Empty for null.
  std::vector<JsonNode> elements() const;
  std::map<std::string, JsonNode> members() const;
  std::vector<double> reals() const;  ///< null elements are NaN
  std::vector<std::string> texts() const;
  std::map<std::string, double> real_map() const;  ///< null members are left out

  bool is_number() const { return value_ != nullptr && value_->is_number(); }
  [[noreturn]] void fail(const std::string& message) const;

 private:
  JsonNode(const nlohmann::json* value, std::string path, std::string_view origin)
      : value_(value), path_(std::move(path)), origin_(origin) {}
  [[noreturn]] void fail_type(const char* expected) const;
  /// The value as a signed or unsigned 64-bit integer, checked against the range.
  std::int64_t signed_integer(std::int64_t low, std::int64_t high) const;
  std::uint64_t unsigned_integer(std::uint64_t high) const;

  const nlohmann::json* value_;
  std::string path_;
  std::string_view origin_;
};

template <class T>
std::optional<T> JsonNode::optional_integer() const {
  if (is_null()) return std::nullopt;
  using Limits = std::numeric_limits<T>;
  if constexpr (Limits::is_signed) {
    return static_cast<T>(signed_integer(Limits::min(), Limits::max()));
  } else {
    return static_cast<T>(unsigned_integer(Limits::max()));
  }
}

}  // namespace gpubench
