// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "analysis/compare.h"
#include "app/verbs.h"
#include "report/reader.h"

namespace gpubench {

ExitCode compare_verb(const std::string& base, const std::string& other,
                      const std::vector<std::string>& match) {
  const Report a = read_report(base);
  const Report b = read_report(other);
  CompareOptions options;
  options.ignore_params = match;
  const CompareReport compared = compare_reports(a, b, options);
  fmt::print("{}", compare_table(compared));
  return compared.nothing_in_common ? ExitCode::nothing_comparable : ExitCode::fine;
}

}  // namespace gpubench
