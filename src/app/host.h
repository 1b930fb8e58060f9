// SPDX-License-Identifier: Apache-2.0
// What a report says of the machine, the build and the environment.
#pragma once

#include <map>
#include <string>

#include "gpubench/report.h"

namespace gpubench {

HostInfo host_info();
BuildInfo build_info();
/// Variables that change how GPU libraries behave, by allow-list; the rest of the environment may
/// hold secrets.
std::map<std::string, std::string> recorded_environment();
/// "2026-12-01T03:04:05Z"
std::string utc_now();

}  // namespace gpubench
