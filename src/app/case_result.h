// SPDX-License-Identifier: Apache-2.0
// A case's result before anything of it is measured.
#pragma once

#include <string>

#include "core/suite.h"
#include "gpubench/report.h"

namespace gpubench {

/// What --device takes: "0", or "cpu".
std::string device_word(const DeviceInfo& info);

/// A result that says what would have run and why it did not.
Result unrun_result(const Case& work, int device_index, const std::string& reproduce_device,
                    Reason reason);

}  // namespace gpubench
