// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analysis/compare.h"
#include "app/resume.h"
#include "app/verbs.h"
#include "gpubench/error.h"
#include "util/text.h"

namespace gpubench {
namespace {

/// What an id can differ in.
void require_known(const std::string& key, const Report& a, const Report& b) {
  std::vector<std::string> known{"impl", "at_once", "burn", "cache", "data", "mode"};
  for (const Report* report : {&a, &b}) {
    for (const Result& result : report->results) {
      for (const auto& [name, value] : result.params) known.push_back(name);
    }
  }
  if (std::find(known.begin(), known.end(), key) != known.end()) return;
  throw ConfigError("--match: no case has a parameter '" + key + "'" + suggestion(key, known));
}

}  // namespace

ExitCode compare_verb(const std::string& base, const std::string& other,
                      const std::vector<std::string>& match) {
  const Report a = load_report_or_journal(base);
  const Report b = load_report_or_journal(other);
  for (const std::string& key : match) require_known(key, a, b);
  CompareOptions options;
  options.ignore_params = match;
  const CompareReport compared = compare_reports(a, b, options);
  fmt::print("{}", compare_table(compared));
  return compared.nothing_in_common ? ExitCode::nothing_comparable : ExitCode::fine;
}

}  // namespace gpubench
