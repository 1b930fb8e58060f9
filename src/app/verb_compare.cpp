// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <string>
#include <vector>

#include "analysis/compare.h"
#include "app/resume.h"
#include "app/verbs.h"
#include "core/suite.h"

namespace gpubench {
namespace {

std::vector<std::string> parameters_of(const Report& a, const Report& b) {
  std::vector<std::string> names{"impl"};
  for (const Report* report : {&a, &b}) {
    for (const Result& result : report->results) {
      for (const auto& [name, value] : result.params) names.push_back(name);
    }
  }
  return names;
}

}  // namespace

ExitCode compare_verb(const std::string& base, const std::string& other,
                      const std::vector<std::string>& match) {
  const Report a = load_report_or_journal(base);
  const Report b = load_report_or_journal(other);
  for (const std::string& key : match) {
    require_parameter("--match", key, parameters_of(a, b));
  }
  CompareOptions options;
  options.ignore_params = match;
  const CompareReport compared = compare_reports(a, b, options);
  fmt::print("{}", compare_table(compared));
  return compared.nothing_in_common ? ExitCode::nothing_comparable : ExitCode::fine;
}

}  // namespace gpubench
