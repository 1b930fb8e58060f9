// SPDX-License-Identifier: Apache-2.0
#include "report/case_key.h"

#include <set>

#include "util/text.h"

namespace gpubench {
namespace {

/// The values of one key among the results of a workload; "" where it is at its default.
struct Spread {
  std::set<std::string> values;
  std::size_t present = 0;
};

/// A key's value in a result: from the id, else (at its default) from the parameters.
std::string value_of(const std::string& key, const CaseKey& id, const Result& result) {
  if (const auto found = id.values.find(key); found != id.values.end()) return found->second;
  const auto found = result.params.find(key);
  return found == result.params.end() ? std::string() : found->second;
}

}  // namespace

CaseKey parse_case_id(std::string_view id) {
  CaseKey key;
  const std::size_t question = id.find('?');
  key.workload = std::string(id.substr(0, question));
  if (question == std::string_view::npos) return key;
  for (const std::string& pair : split(id.substr(question + 1), '&')) {
    const std::size_t equals = pair.find('=');
    if (equals != std::string::npos) key.values[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  return key;
}

std::string to_case_id(const CaseKey& key) {
  std::string id = key.workload;
  char separator = '?';
  for (const auto& [name, value] : key.values) {
    id += separator + name + "=" + value;
    separator = '&';
  }
  return id;
}

std::vector<std::string> case_labels(const std::vector<Result>& results) {
  std::vector<CaseKey> keys;
  std::map<std::string, std::set<std::string>> ids;             // by workload
  std::map<std::string, std::map<std::string, Spread>> spread;  // by workload and key
  for (const Result& result : results) {
    keys.push_back(parse_case_id(result.id));
    const CaseKey& key = keys.back();
    if (!ids[key.workload].insert(result.id).second) continue;  // the same case on another device
    for (const auto& [name, value] : key.values) {
      spread[key.workload][name].values.insert(value);
      ++spread[key.workload][name].present;
    }
  }
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const CaseKey& key = keys[i];
    const std::size_t cases = ids[key.workload].size();
    std::string label = key.workload;
    if (const std::string dtype = value_of("dtype", key, results[i]); !dtype.empty()) {
      label += " " + dtype;
    }
    for (const auto& [name, seen] : spread[key.workload]) {
      const bool differs = cases == 1 || seen.values.size() > 1 || seen.present < cases;
      if (!differs || name == "dtype" || name == "impl") continue;
      const std::string value = value_of(name, key, results[i]);
      if (!value.empty()) label += " " + name + "=" + value;
    }
    labels.push_back(std::move(label));
  }
  return labels;
}

}  // namespace gpubench
