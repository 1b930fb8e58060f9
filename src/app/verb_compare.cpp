// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "analysis/compare.h"
#include "app/verbs.h"
#include "report/journal.h"
#include "report/reader.h"

namespace gpubench {
namespace {

/// A report, or the journal of a run that did not end.
Report load(const std::string& path) {
  const bool journal = path.ends_with(".journal") || path.ends_with(".journal.old");
  return journal ? read_journal(path) : read_report(path);
}

}  // namespace

ExitCode compare_verb(const std::string& base, const std::string& other,
                      const std::vector<std::string>& match) {
  const Report a = load(base);
  const Report b = load(other);
  CompareOptions options;
  options.ignore_params = match;
  const CompareReport compared = compare_reports(a, b, options);
  fmt::print("{}", compare_table(compared));
  return compared.nothing_in_common ? ExitCode::nothing_comparable : ExitCode::fine;
}

}  // namespace gpubench
