// SPDX-License-Identifier: Apache-2.0
// Words of the command line to cases, resolving and filtering them.
#include "core/suite.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <utility>

#include "gpubench/error.h"
#include "util/text.h"

namespace gpubench {
namespace {

template <class Enum>
struct Named {
  Enum value;
  std::string_view text;
};

constexpr std::array<Named<DataDist>, 4> kDataDists{{{DataDist::normal, "normal"},
                                                     {DataDist::uniform, "uniform"},
                                                     {DataDist::zeros, "zeros"},
                                                     {DataDist::ones, "ones"}}};
constexpr std::array<Named<CacheMode>, 2> kCacheModes{
    {{CacheMode::cold, "cold"}, {CacheMode::hot, "hot"}}};
constexpr std::array<Named<LoadMode>, 2> kLoadModes{
    {{LoadMode::sustained, "sustained"}, {LoadMode::burst, "burst"}}};
constexpr std::array<Named<Fault>, 6> kFaults{{{Fault::none, "none"},
                                               {Fault::wrong_element, "wrong_element"},
                                               {Fault::unwritten_tile, "unwritten_tile"},
                                               {Fault::swapped_operands, "swapped_operands"},
                                               {Fault::nan, "nan"},
                                               {Fault::rare_bits, "rare_bits"}}};

template <class Table, class Enum>
std::string_view name_of(const Table& table, Enum value) {
  for (const auto& entry : table) {
    if (entry.value == value) return entry.text;
  }
  return "unknown";
}

template <class Table>
auto parse_name(const Table& table, const std::string& what, std::string_view text) {
  std::vector<std::string> names;
  for (const auto& entry : table) {
    if (entry.text == text) return entry.value;
    names.emplace_back(entry.text);
  }
  throw ConfigError("unknown " + what + " '" + std::string(text) + "'" + suggestion(text, names) +
                    " (there are: " + join(names, ", ") + ")");
}

bool is_condition(const std::string& name) {
  const std::vector<std::string>& names = condition_names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// One WORKLOAD of the command line with the lists of values given for it.
struct WordGroup {
  std::string workload;
  std::map<std::string, std::vector<std::string>> values;
};

void add_assignment(WordGroup& group, const std::string& word, std::size_t equals) {
  const std::string key = word.substr(0, equals);
  std::vector<std::string> values = split(std::string_view(word).substr(equals + 1), ',');
  if (key.empty() || std::find(values.begin(), values.end(), "") != values.end()) {
    throw ConfigError("'" + word + "': expected key=value or key=value,value");
  }
  if (!group.values.emplace(key, std::move(values)).second) {
    throw ConfigError("'" + key + "' is given twice for " + group.workload +
                      "; several values are written " + key + "=a,b");
  }
}

/// "ops/gemm?dtype=fp8&m=4096": a case id as it stands in a report.
bool is_case_id(const std::string& word) {
  const std::size_t question = word.find('?');
  return question != std::string::npos && word.find('=', question) != std::string::npos &&
         word.find('=') > question;
}

WordGroup group_of_id(const std::string& id) {
  const std::size_t question = id.find('?');
  WordGroup group{.workload = id.substr(0, question), .values = {}};
  for (const std::string& pair : split(std::string_view(id).substr(question + 1), '&')) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos) {
      throw ConfigError("'" + id + "': '" + pair + "' is no key=value of a case id");
    }
    add_assignment(group, pair, equals);
  }
  return group;
}

std::vector<WordGroup> group_words(const std::vector<std::string>& words) {
  std::vector<WordGroup> groups;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (is_case_id(word)) {
      groups.push_back(group_of_id(word));
    } else if (equals == std::string::npos) {
      groups.push_back({.workload = word, .values = {}});
    } else if (groups.empty()) {
      throw ConfigError("'" + word + "' comes before any workload; write WORKLOAD " + word);
    } else {
      add_assignment(groups.back(), word, equals);
    }
  }
  return groups;
}

std::vector<const WorkloadInfo*> matching_workloads(const std::string& name) {
  if (!is_glob(name)) return {&find_workload(name)};
  std::vector<const WorkloadInfo*> matches;
  std::vector<std::string> names;
  for (const WorkloadInfo* workload : workloads()) {
    names.push_back(workload->name);
    if (glob_match(name, workload->name)) matches.push_back(workload);
  }
  if (matches.empty()) {
    throw ConfigError("no workload matches '" + name + "' (there are: " + join(names, ", ") + ")");
  }
  return matches;
}

bool has_param(const WorkloadInfo& workload, const std::string& name) {
  return std::any_of(workload.params.begin(), workload.params.end(),
                     [&](const ParamSpec& spec) { return spec.name == name; });
}

/// The cases of one workload: lists of values multiply out.
std::vector<CaseRequest> multiply_out(
    const std::string& workload, const std::map<std::string, std::vector<std::string>>& values) {
  std::vector<CaseRequest> requests{{.workload = workload, .params = {}, .conditions = {}}};
  for (const auto& [key, choices] : values) {
    std::vector<CaseRequest> longer;
    for (const CaseRequest& request : requests) {
      for (const std::string& choice : choices) {
        longer.push_back(request);
        (is_condition(key) ? longer.back().conditions : longer.back().params)[key] = choice;
      }
    }
    requests = std::move(longer);
  }
  return requests;
}

bool parse_condition_flag(const std::string& key, const std::string& value) {
  if (value == "0" || value == "1") return value == "1";
  if (value == "true" || value == "false") return value == "true";
  throw ConfigError("'" + key + "=" + value + "': 0 or 1");
}

Conditions resolve_conditions(Conditions conditions,
                              const std::map<std::string, std::string>& given) {
  for (const auto& [key, value] : given) {
    if (key == "cache") {
      conditions.cache = parse_cache_mode(value);
    } else if (key == "data") {
      conditions.data = parse_data_dist(value);
    } else if (key == "mode") {
      conditions.mode = parse_load_mode(value);
    } else if (key == "at_once") {
      conditions.at_once = parse_condition_flag(key, value);
    } else if (key == "burn") {
      conditions.burn = parse_condition_flag(key, value);
    } else {
      throw ConfigError("unknown condition '" + key + "'" + suggestion(key, condition_names()));
    }
  }
  return conditions;
}

/// What an id says of the conditions: only what is not gpubench's default.
std::map<std::string, std::string> shown_conditions(const Conditions& conditions) {
  const Conditions standard;
  std::map<std::string, std::string> shown;
  if (conditions.cache != standard.cache) shown["cache"] = to_string(conditions.cache);
  if (conditions.data != standard.data) shown["data"] = to_string(conditions.data);
  if (conditions.at_once) shown["at_once"] = "1";
  if (conditions.burn) shown["burn"] = "1";
  if (conditions.mode != standard.mode) shown["mode"] = to_string(conditions.mode);
  return shown;
}

std::string prefix(const CaseRequest& request) {
  return request.origin.empty() ? std::string() : request.origin + ": ";
}

const WorkloadInfo& workload_of(const CaseRequest& request) {
  try {
    return find_workload(request.workload);
  } catch (const ConfigError& error) {
    throw ConfigError(prefix(request) + error.what(), error.code());
  }
}

bool matches(const Case& candidate, const std::string& pattern) {
  // Every id has a '?' before its parameters, so a part of an id may look like a glob.
  if (candidate.id.find(pattern) != std::string::npos) return true;
  return is_glob(pattern) &&
         (glob_match(pattern, candidate.id) || glob_match(pattern, candidate.workload->name));
}

}  // namespace

const std::vector<std::string>& condition_names() {
  static const std::vector<std::string> names{"at_once", "burn", "cache", "data", "mode"};
  return names;
}

void require_parameter(const std::string& option, const std::string& key,
                       std::vector<std::string> params) {
  params.insert(params.end(), condition_names().begin(), condition_names().end());
  if (std::find(params.begin(), params.end(), key) != params.end()) return;
  throw ConfigError(option + ": no case has a parameter '" + key + "'" + suggestion(key, params));
}

std::vector<CaseRequest> parse_case_words(const std::vector<std::string>& words) {
  std::vector<CaseRequest> requests;
  for (const WordGroup& group : group_words(words)) {
    const std::vector<const WorkloadInfo*> matched = matching_workloads(group.workload);
    std::set<std::string> used;
    for (const WorkloadInfo* workload : matched) {
      std::map<std::string, std::vector<std::string>> values;
      for (const auto& [key, choices] : group.values) {
        // Without a glob every key is kept: resolving names the one that the workload lacks.
        if (is_glob(group.workload) && !is_condition(key) && !has_param(*workload, key)) continue;
        values[key] = choices;
        used.insert(key);
      }
      const std::vector<CaseRequest> more = multiply_out(workload->name, values);
      requests.insert(requests.end(), more.begin(), more.end());
    }
    for (const auto& [key, choices] : group.values) {
      if (used.count(key) != 0) continue;
      std::vector<std::string> names = condition_names();
      for (const WorkloadInfo* workload : matched) {
        for (const ParamSpec& spec : workload->params) names.push_back(spec.name);
      }
      throw ConfigError("no workload that matches '" + group.workload + "' has a parameter '" +
                        key + "'" + suggestion(key, names));
    }
  }
  return requests;
}

std::vector<Case> plan_cases(const std::vector<CaseRequest>& requests, const Conditions& defaults) {
  std::vector<Case> cases;
  std::set<std::string> ids;
  for (const CaseRequest& request : requests) {
    const WorkloadInfo& workload = workload_of(request);
    Case planned;
    planned.workload = &workload;
    try {
      planned.params = Params::resolve(workload.params, request.params, condition_names());
      planned.conditions = resolve_conditions(defaults, request.conditions);
    } catch (const ConfigError& error) {
      throw ConfigError(prefix(request) + workload.name + ": " + error.what(), error.code());
    }
    planned.id = case_id(workload.name, workload.params, planned.params,
                         shown_conditions(planned.conditions));
    if (ids.insert(planned.id).second) cases.push_back(std::move(planned));
  }
  return cases;
}

std::vector<Case> filter_cases(const std::vector<Case>& cases,
                               const std::vector<std::string>& patterns) {
  if (patterns.empty()) return cases;
  std::vector<std::string> ids;
  for (const Case& candidate : cases) ids.push_back(candidate.id);
  std::string unmatched;
  std::vector<bool> chosen(cases.size(), false);
  for (const std::string& pattern : patterns) {
    bool any = false;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      if (!matches(cases[i], pattern)) continue;
      chosen[i] = true;
      any = true;
    }
    if (any) continue;
    if (!unmatched.empty()) unmatched += "; ";
    unmatched += "no case matches '" + pattern + "'" + suggestion(pattern, ids);
  }
  if (!unmatched.empty()) {
    const std::size_t shown = std::min<std::size_t>(ids.size(), 3);
    ids.resize(shown);
    throw ConfigError(unmatched + " (cases are such as " + join(ids, ", ") +
                      "; --dry-run shows all)");
  }
  std::vector<Case> kept;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (chosen[i]) kept.push_back(cases[i]);
  }
  return kept;
}

std::string_view to_string(DataDist data) { return name_of(kDataDists, data); }
std::string_view to_string(CacheMode cache) { return name_of(kCacheModes, cache); }
std::string_view to_string(LoadMode mode) { return name_of(kLoadModes, mode); }
std::string_view to_string(Fault fault) { return name_of(kFaults, fault); }

DataDist parse_data_dist(std::string_view text) {
  return parse_name(kDataDists, "data distribution", text);
}
CacheMode parse_cache_mode(std::string_view text) {
  return parse_name(kCacheModes, "cache mode", text);
}
LoadMode parse_load_mode(std::string_view text) {
  return parse_name(kLoadModes, "load mode", text);
}
Fault parse_fault(std::string_view text) { return parse_name(kFaults, "fault", text); }

}  // namespace gpubench
