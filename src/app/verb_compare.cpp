// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "analysis/compare.h"
#include "app/resume.h"
#include "app/verbs.h"

namespace gpubench {
ExitCode compare_verb(const std::string& base, const std::string& other,
                      const std::vector<std::string>& match) {
  const Report a = load_report_or_journal(base);
  const Report b = load_report_or_journal(other);
  CompareOptions options;
  options.ignore_params = match;
  const CompareReport compared = compare_reports(a, b, options);
  fmt::print("{}", compare_table(compared));
  return compared.nothing_in_common ? ExitCode::nothing_comparable : ExitCode::fine;
}

}  // namespace gpubench
