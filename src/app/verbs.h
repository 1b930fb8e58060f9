// SPDX-License-Identifier: Apache-2.0
// One function per verb. Results go to stdout, progress and warnings to stderr.
#pragma once

#include <string>
#include <vector>

#include "app/exit_code.h"
#include "app/run_options.h"

namespace gpubench {

ExitCode run_verb(const RunOptions& options);

/// What `burn` was given: of `run` its words, device, output, catalogue and quiet.
struct BurnOptions {
  RunOptions run;
  double minutes = 1;
};
ExitCode burn_verb(const BurnOptions& burn);

ExitCode list_verb();
ExitCode show_verb(const std::string& name);  ///< a workload or a suite

/// What `specs` was given.
struct SpecsOptions {
  std::string id;         ///< one entry; empty: all
  std::string catalogue;  ///< a file of own entries
  bool json = false;
  bool check = false;  ///< look for contradictions between the figures
};
ExitCode specs_verb(const SpecsOptions& options);  ///< the device catalogue
ExitCode devices_verb(bool json, const std::string& catalogue);
ExitCode doctor_verb();
ExitCode compare_verb(const std::string& base, const std::string& other,
                      const std::vector<std::string>& match);

}  // namespace gpubench
