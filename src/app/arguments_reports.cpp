// SPDX-License-Identifier: Apache-2.0
// Verbs that read reports: compare.
#include <memory>

#include "app/arguments.h"
#include "app/validators.h"
#include "app/verbs.h"

namespace gpubench {

void add_compare(CLI::App& app, const Choose& choose) {
  struct Options {
    std::string base, other;
    std::vector<std::string> match;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* compare =
      app.add_subcommand("compare", "Set two reports against each other, case by case");
  compare->add_option("A", options->base, "Base report")->required();
  compare->add_option("B", options->other, "Report to compare with it")->required();
  compare
      ->add_option("--match", options->match,
                   "Parameters to leave out when pairing cases, e.g. impl")
      ->delimiter(',')
      ->allow_extra_args(false);
  compare->callback([choose, options] {
    choose([options] { return compare_verb(options->base, options->other, options->match); });
  });
}

}  // namespace gpubench
