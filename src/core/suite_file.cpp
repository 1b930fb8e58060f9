// SPDX-License-Identifier: Apache-2.0
// Reading suite files.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/suite.h"
#include "gpubench/error.h"
#include "util/json_file.h"
#include "util/sha256.h"
#include "util/text.h"

namespace gpubench {
namespace {

using nlohmann::json;
using Assignment = std::map<std::string, std::string>;

/// Far above any sensible suite: guards against a cross product that eats the memory.
constexpr std::size_t kMostCases = 100000;
constexpr const char* kTooMany = "more than 100000 cases";

[[noreturn]] void fail(const std::string& where, const std::string& what) {
  throw ConfigError(where + ": " + what);
}

void only(const json& object, const std::string& where, const std::vector<std::string>& allowed) {
  if (!object.is_object()) fail(where, "must be an object");
  for (const auto& [key, value] : object.items()) {
    if (std::find(allowed.begin(), allowed.end(), key) == allowed.end()) {
      fail(where, "unknown member \"" + key + "\"" + suggestion(key, allowed));
    }
  }
}

std::string text_member(const json& object, const char* key, const std::string& where) {
  const auto found = object.find(key);
  if (found == object.end()) fail(where, std::string("has no \"") + key + "\"");
  if (!found->is_string() || found->get<std::string>().empty()) {
    fail(where + "." + key, "must be a text");
  }
  return found->get<std::string>();
}

/// A parameter's value as a user would type it.
std::string value_text(const json& value, const std::string& where) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  if (value.is_number()) return value.dump();
  fail(where, "must be a text, a number, or true or false");
}

/// The tuples of an object: arrays multiply out, the last key fastest.
std::vector<Assignment> cross_product(const json& object, const std::string& where) {
  if (!object.is_object()) fail(where, "must be an object");
  std::vector<Assignment> tuples{{}};
  for (const auto& [key, value] : object.items()) {
    const std::string place = where + "." + key;
    const json values = value.is_array() ? value : json::array({value});
    if (values.empty()) fail(place, "the list is empty");
    if (tuples.size() * values.size() > kMostCases) fail(where, kTooMany);
    std::vector<Assignment> longer;
    for (const Assignment& tuple : tuples) {
      for (const json& element : values) {
        longer.push_back(tuple);
        longer.back()[key] = value_text(element, place);
      }
    }
    tuples = std::move(longer);
  }
  return tuples;
}

std::vector<Assignment> shape_tuples(const json& shapes, const std::string& where) {
  if (!shapes.is_array() || shapes.empty()) fail(where, "must be a list of objects, not empty");
  std::vector<Assignment> tuples;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const std::string place = where + "[" + std::to_string(i) + "]";
    const std::vector<Assignment> more = cross_product(shapes[i], place);
    tuples.insert(tuples.end(), more.begin(), more.end());
  }
  return tuples;
}

/// A policy member and the bounds of its value.
struct PolicyMember {
  std::function<void(SamplingPolicy&, double)> set;
  double least;
  double most;
  bool integer;
};

const std::map<std::string, PolicyMember>& policy_members() {
  const auto real = [](double SamplingPolicy::*field, double least, double most) {
    return PolicyMember{[field](SamplingPolicy& policy, double value) { policy.*field = value; },
                        least, most, false};
  };
  const auto integer = [](std::int64_t SamplingPolicy::*field) {
    return PolicyMember{[field](SamplingPolicy& policy, double value) {
                          policy.*field = static_cast<std::int64_t>(value);
                        },
                        1, 1e9, true};
  };
  static const std::map<std::string, PolicyMember> members{
      {"warmup_s", real(&SamplingPolicy::warmup_s, 0, 600)},
      {"min_time_s", real(&SamplingPolicy::min_time_s, 0, 3600)},
      {"max_time_s", real(&SamplingPolicy::max_time_s, 1e-3, 36000)},
      {"max_noise", real(&SamplingPolicy::max_noise, 1e-5, 1)},  // a fraction
      {"sample_s", real(&SamplingPolicy::sample_s, 0, 60)},
      {"min_samples", integer(&SamplingPolicy::min_samples)},
      {"max_samples", integer(&SamplingPolicy::max_samples)}};
  return members;
}

void apply_policy(SamplingPolicy& policy, const json& object, const std::string& where) {
  std::vector<std::string> names;
  for (const auto& [name, member] : policy_members()) names.push_back(name);
  only(object, where, names);
  for (const auto& [key, value] : object.items()) {
    const PolicyMember& member = policy_members().at(key);
    const std::string place = where + "." + key;
    if (!(member.integer ? value.is_number_integer() : value.is_number())) {
      fail(place, member.integer ? "must be an integer" : "must be a number");
    }
    const auto number = value.get<double>();
    if (!(number >= member.least && number <= member.most)) {
      fail(place,
           fmt::format("{} is not between {} and {}", value.dump(), member.least, member.most));
    }
    member.set(policy, number);
  }
  if (policy.min_time_s > policy.max_time_s) fail(where, "min_time_s is above max_time_s");
  if (policy.min_samples > policy.max_samples) fail(where, "min_samples is above max_samples");
}

/// An entry's parts after the device's own members replaced the general ones.
struct Entry {
  json params = json::object();
  json shapes = json::array({json::object()});
};

void replace_members(Entry& entry, const json& object) {
  if (const auto params = object.find("params"); params != object.end()) entry.params = *params;
  if (const auto shapes = object.find("shapes"); shapes != object.end()) entry.shapes = *shapes;
}

void add_cases(Suite& suite, const json& object, const std::string& where, DeviceKind kind) {
  only(object, where, {"workload", "params", "shapes", "conditions", "cpu"});
  const std::string workload = text_member(object, "workload", where);
  Entry entry;
  replace_members(entry, object);
  const auto cpu = object.find("cpu");
  if (cpu != object.end() && !cpu->is_null()) only(*cpu, where + ".cpu", {"params", "shapes"});
  if (cpu != object.end() && kind == DeviceKind::cpu) {
    if (cpu->is_null()) return;
    replace_members(entry, *cpu);
  }
  Assignment conditions;
  if (const auto given = object.find("conditions"); given != object.end()) {
    only(*given, where + ".conditions", {"at_once", "burn", "cache", "data", "mode"});
    for (const auto& [key, value] : given->items()) {
      conditions[key] = value_text(value, where + ".conditions." + key);
    }
  }
  const std::vector<Assignment> params = cross_product(entry.params, where + ".params");
  for (const Assignment& shape : shape_tuples(entry.shapes, where + ".shapes")) {
    for (const Assignment& tuple : params) {
      CaseRequest request{
          .workload = workload, .params = shape, .conditions = conditions, .origin = where};
      for (const auto& [key, value] : tuple) {
        if (!request.params.emplace(key, value).second) {
          fail(where, "\"" + key + "\" is in params and in shapes");
        }
      }
      if (suite.cases.size() >= kMostCases) fail(where, kTooMany);
      suite.cases.push_back(std::move(request));
    }
  }
}

void add_included(Suite& suite, const json& names, const std::string& where, std::string& hashed,
                  const IncludeFn& include) {
  if (!names.is_array() || names.empty()) fail(where, "must be a list of suites, not empty");
  if (!include) fail(where, "an included suite can't include others");
  for (const json& name : names) {
    if (!name.is_string()) fail(where, "must be a list of suites, each a text");
    Suite other;
    try {
      other = include(name.get<std::string>());
    } catch (const ConfigError& error) {
      throw ConfigError(where + ": " + error.what(), error.code());
    }
    hashed += other.sha256;
    if (suite.cases.size() + other.cases.size() > kMostCases) fail(where, kTooMany);
    std::move(other.cases.begin(), other.cases.end(), std::back_inserter(suite.cases));
  }
}

}  // namespace

Suite parse_suite(std::string_view text, std::string_view origin, DeviceKind kind,
                  const IncludeFn& include) {
  const std::string file(origin);
  const json root = parse_json(text, origin);
  only(root, file, {"name", "summary", "policy", "include", "cases", "cpu"});
  Suite suite;
  suite.name = text_member(root, "name", file);
  suite.summary = text_member(root, "summary", file);
  std::string hashed(text);
  const auto included = root.find("include");
  if (included != root.end()) add_included(suite, *included, file + ": include", hashed, include);
  suite.sha256 = sha256_hex(hashed);
  if (const auto policy = root.find("policy"); policy != root.end()) {
    apply_policy(suite.policy, *policy, file + ": policy");
  }
  if (const auto cpu = root.find("cpu"); cpu != root.end()) {
    only(*cpu, file + ": cpu", {"policy"});
    SamplingPolicy checked = suite.policy;  // mistakes show on every device
    if (cpu->contains("policy")) apply_policy(checked, (*cpu)["policy"], file + ": cpu.policy");
    if (kind == DeviceKind::cpu) suite.policy = checked;
  }
  const auto cases = root.find("cases");
  if (cases == root.end() && included != root.end()) return suite;
  if (cases == root.end() || !cases->is_array() || cases->empty()) {
    fail(file, "\"cases\" must be a list, not empty");
  }
  for (std::size_t i = 0; i < cases->size(); ++i) {
    add_cases(suite, (*cases)[i], file + ": cases[" + std::to_string(i) + "]", kind);
  }
  return suite;
}

}  // namespace gpubench
