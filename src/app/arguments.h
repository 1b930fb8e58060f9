// SPDX-License-Identifier: Apache-2.0
// The arguments of each verb: a function per verb that adds it to the command line. What was typed
// is kept in the verb's own options, which live as long as the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "app/exit_code.h"

namespace gpubench {

/// Takes the call that the chosen verb, with its arguments, amounts to.
using Choose = std::function<void(std::function<ExitCode()>)>;

/// `command`: argv, for the report.
void add_run(CLI::App& app, const std::vector<std::string>& command, const Choose& choose);
void add_burn(CLI::App& app, const std::vector<std::string>& command, const Choose& choose);

void add_list(CLI::App& app, const Choose& choose);
void add_show(CLI::App& app, const Choose& choose);
void add_specs(CLI::App& app, const Choose& choose);
void add_devices(CLI::App& app, const Choose& choose);
void add_doctor(CLI::App& app, const Choose& choose);

void add_compare(CLI::App& app, const Choose& choose);

}  // namespace gpubench
