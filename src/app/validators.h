// SPDX-License-Identifier: Apache-2.0
// Checks of option values, whose messages show what was typed.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace gpubench {

/// A number within bounds. CLI11's own conversion follows the locale and takes "nan" and "inf".
CLI::Validator real_between(double low, double high);

/// CLI11 would take "-1" for an unsigned number and wrap it around.
CLI::Validator whole_number();

CLI::Validator not_empty();

/// --catalogue FILE, which several verbs take.
void add_catalogue(CLI::App* verb, std::string& file);

}  // namespace gpubench
