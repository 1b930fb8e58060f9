// SPDX-License-Identifier: Apache-2.0
#include "gpubench/params.h"

#include <algorithm>
#include <utility>

#include "gpubench/error.h"
#include "util/text.h"
#include "util/units.h"

namespace gpubench {
namespace {

std::string quoted(const ParamSpec& spec, const std::string& value) {
  return spec.name + "=" + value;
}

std::string canonical_integer(const ParamSpec& spec, const std::string& value) {
  const auto number = parse_integer(value);
  if (!number) {
    throw ConfigError(quoted(spec, value) + ": " + spec.name +
                      " takes an integer that fits 64 bits, such as 4096 or 4K");
  }
  if (*number < spec.min || *number > spec.max) {
    throw ConfigError(quoted(spec, value) + ": " + spec.name + " must be between " +
                      std::to_string(spec.min) + " and " + std::to_string(spec.max));
  }
  return std::to_string(*number);
}

std::string canonical_flag(const ParamSpec& spec, const std::string& value) {
  const std::string word = lower(value);
  if (word == "1" || word == "true" || word == "on" || word == "yes") return "1";
  if (word == "0" || word == "false" || word == "off" || word == "no") return "0";
  throw ConfigError(quoted(spec, value) + ": " + spec.name + " is 0 or 1");
}

std::string canonical_choice(const ParamSpec& spec, const std::string& value) {
  for (const std::string& choice : spec.choices) {
    if (choice == value) return value;
  }
  throw ConfigError(quoted(spec, value) + ": " + spec.name + " is one of " +
                    join(spec.choices, ", ") + suggestion(value, spec.choices));
}

std::string canonical(const ParamSpec& spec, const std::string& value) {
  switch (spec.type) {
    case ParamType::integer:
      return canonical_integer(spec, value);
    case ParamType::boolean:
      return canonical_flag(spec, value);
    case ParamType::choice:
      return canonical_choice(spec, value);
    case ParamType::text:
      return value;
  }
  return value;
}

}  // namespace

ParamSpec int_param(std::string name, std::int64_t default_value, std::string help,
                    std::int64_t min, std::int64_t max) {
  return {.name = std::move(name),
          .type = ParamType::integer,
          .default_value = std::to_string(default_value),
          .help = std::move(help),
          .min = min,
          .max = max};
}

ParamSpec bool_param(std::string name, bool default_value, std::string help) {
  return {.name = std::move(name),
          .type = ParamType::boolean,
          .default_value = default_value ? "1" : "0",
          .help = std::move(help)};
}

ParamSpec choice_param(std::string name, std::string default_value,
                       std::vector<std::string> choices, std::string help) {
  return {.name = std::move(name),
          .type = ParamType::choice,
          .default_value = std::move(default_value),
          .help = std::move(help),
          .choices = std::move(choices)};
}

Params Params::resolve(const std::vector<ParamSpec>& specs,
                       const std::map<std::string, std::string>& given,
                       const std::vector<std::string>& conditions) {
  std::vector<std::string> names;
  for (const ParamSpec& spec : specs) names.push_back(spec.name);
  for (const auto& [name, value] : given) {
    if (std::find(conditions.begin(), conditions.end(), name) != conditions.end()) {
      throw ConfigError("'" + name +
                        "' is a condition, not a parameter: it belongs to \"conditions\"");
    }
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      std::vector<std::string> likely = names;
      likely.insert(likely.end(), conditions.begin(), conditions.end());
      throw ConfigError("unknown parameter '" + name + "'" + suggestion(name, likely) +
                        " (there are: " + join(names, ", ") + ")");
    }
  }
  Params params;
  for (const ParamSpec& spec : specs) {
    const auto found = given.find(spec.name);
    params.values_[spec.name] =
        canonical(spec, found == given.end() ? spec.default_value : found->second);
  }
  return params;
}

const std::string& Params::text(std::string_view name) const {
  const auto found = values_.find(std::string(name));
  if (found == values_.end()) {
    throw ConfigError("the workload has no parameter '" + std::string(name) + "'");
  }
  return found->second;
}

std::int64_t Params::integer(std::string_view name) const {
  const auto number = parse_integer(text(name));
  if (!number) throw ConfigError(std::string(name) + " is not an integer parameter");
  return *number;
}

bool Params::flag(std::string_view name) const { return text(name) == "1"; }

Dtype Params::dtype(std::string_view name) const { return parse_dtype(text(name)); }

std::string case_id(std::string_view workload, const std::vector<ParamSpec>& specs,
                    const Params& params, const std::map<std::string, std::string>& conditions) {
  std::map<std::string, std::string> shown = conditions;
  for (const ParamSpec& spec : specs) {
    const std::string& value = params.text(spec.name);
    if (value != canonical(spec, spec.default_value)) shown[spec.name] = value;
  }
  std::string id(workload);
  char separator = '?';
  for (const auto& [name, value] : shown) {
    id += separator + name + "=" + value;
    separator = '&';
  }
  return id;
}

}  // namespace gpubench
