// SPDX-License-Identifier: Apache-2.0
#include "report/json_node.h"

#include <cmath>

#include "gpubench/error.h"
#include "util/text.h"

namespace gpubench {

using nlohmann::json;

void JsonNode::fail(const std::string& message) const {
  throw ConfigError(std::string(origin_) + ": " + valid_utf8(path_) + ": " + message);
}

void JsonNode::fail_type(const char* expected) const {
  const std::string found = value_ == nullptr ? "nothing" : value_->type_name();
  fail(std::string("expected ") + expected + ", found " + found);
}

JsonNode JsonNode::operator[](const char* key) const {
  const std::string path = path_ + "." + key;
  if (is_null()) return {nullptr, path, origin_};
  if (!value_->is_object()) fail_type("an object");
  const auto found = value_->find(key);
  return {found == value_->end() ? nullptr : &*found, path, origin_};
}

JsonNode JsonNode::required(const char* key) const {
  JsonNode member = (*this)[key];
  if (member.is_null()) member.fail("missing; is this a complete gpubench report?");
  return member;
}

std::string JsonNode::text() const {
  if (is_null()) return {};
  if (!value_->is_string()) fail_type("a string");
  return value_->get<std::string>();
}

std::optional<bool> JsonNode::optional_boolean() const {
  if (is_null()) return std::nullopt;
  if (!value_->is_boolean()) fail_type("true or false");
  return value_->get<bool>();
}

bool JsonNode::boolean(bool fallback) const { return optional_boolean().value_or(fallback); }

std::optional<double> JsonNode::optional_real() const {
  if (is_null()) return std::nullopt;
  if (!value_->is_number()) fail_type("a number");
  return value_->get<double>();
}

double JsonNode::real() const { return optional_real().value_or(std::nan("")); }

std::int64_t JsonNode::signed_integer(std::int64_t low, std::int64_t high) const {
  if (!value_->is_number_integer()) fail_type("an integer");
  // Above the signed range the library keeps an unsigned value, which get<int64_t> would wrap.
  const bool wraps = value_->is_number_unsigned() &&
                     value_->get<std::uint64_t>() >
                         static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const std::int64_t value = wraps ? 0 : value_->get<std::int64_t>();
  if (wraps || value < low || value > high) fail("the integer is out of range");
  return value;
}

std::uint64_t JsonNode::unsigned_integer(std::uint64_t high) const {
  if (!value_->is_number_integer()) fail_type("an integer");
  if (!value_->is_number_unsigned()) fail("the integer is negative");
  const auto value = value_->get<std::uint64_t>();
  if (value > high) fail("the integer is out of range");
  return value;
}

std::vector<JsonNode> JsonNode::elements() const {
  std::vector<JsonNode> nodes;
  if (is_null()) return nodes;
  if (!value_->is_array()) fail_type("an array");
  for (std::size_t i = 0; i < value_->size(); ++i) {
    nodes.push_back({&(*value_)[i], path_ + "[" + std::to_string(i) + "]", origin_});
  }
  return nodes;
}

std::map<std::string, JsonNode> JsonNode::members() const {
  std::map<std::string, JsonNode> nodes;
  if (is_null()) return nodes;
  if (!value_->is_object()) fail_type("an object");
  for (const auto& item : value_->items()) {
    nodes.emplace(item.key(), JsonNode(&item.value(), path_ + "." + item.key(), origin_));
  }
  return nodes;
}

std::vector<double> JsonNode::reals() const {
  std::vector<double> values;
  for (const JsonNode& node : elements()) values.push_back(node.real());
  return values;
}

std::vector<std::string> JsonNode::texts() const {
  std::vector<std::string> values;
  for (const JsonNode& node : elements()) values.push_back(node.text());
  return values;
}

std::map<std::string, double> JsonNode::real_map() const {
  std::map<std::string, double> values;
  for (const auto& [key, node] : members()) {
    if (const auto value = node.optional_real()) values[key] = *value;
  }
  return values;
}

}  // namespace gpubench
