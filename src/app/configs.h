// SPDX-License-Identifier: Apache-2.0
// Suites and the device catalogue: embedded at build time, overridden by a path.
#pragma once

#include <string>
#include <vector>

#include "core/catalogue.h"
#include "core/suite.h"

namespace gpubench {

/// `name` is a shipped suite ("bert") or a path ("./mine.json": has a slash or ends in .json).
/// Throws ConfigError with the nearest name.
Suite load_suite(const std::string& name, DeviceKind kind);

/// Names of the shipped suites.
std::vector<std::string> suite_names();

/// The shipped catalogue, with the entries of the user's file added if there is one.
Catalogue load_catalogue(const std::string& file = {});

}  // namespace gpubench
