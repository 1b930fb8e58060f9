// SPDX-License-Identifier: Apache-2.0
// Plain values as the report writes them: unknown and not finite is null.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gpubench/report.h"
#include "report/schema.h"

namespace gpubench {

using Json = nlohmann::ordered_json;

inline Json text(const std::string& value) { return value.empty() ? Json() : Json(value); }

inline Json number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

inline Json number(const std::optional<double>& value) { return value ? number(*value) : Json(); }

template <class T>
Json optional(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

/// Counts and sizes for which 0 stands for "not known".
template <class T>
Json positive(T value) {
  return value > 0 ? Json(value) : Json();
}

inline Json hex(const std::optional<std::uint32_t>& value) {
  return value ? Json(fmt::format("0x{:04x}", *value)) : Json();
}

inline Json interval(const std::optional<double>& low, const std::optional<double>& high) {
  if (!low || !high) return Json();
  return Json::array({number(*low), number(*high)});
}

inline Json numbers(const std::vector<double>& values) {
  Json array = Json::array();
  for (const double value : values) array.push_back(number(value));
  return array;
}

inline Json numbers(const std::map<std::string, double>& values) {
  Json object = Json::object();
  for (const auto& [key, value] : values) object[key] = number(value);
  return object;
}

/// All of kPeakKeys, null where there is no figure, then any other key.
inline Json peak_table(const std::map<std::string, double>& values) {
  Json object = Json::object();
  for (const char* key : kPeakKeys) object[key] = nullptr;
  for (const auto& [key, value] : values) object[key] = number(value);
  return object;
}

/// writer_device.cpp
Json to_value(const DeviceSpec& spec);
Json to_value(const ReportDevice& device);
/// Times count from `origin_s`.
Json to_value(const Telemetry& telemetry, double origin_s);

}  // namespace gpubench
