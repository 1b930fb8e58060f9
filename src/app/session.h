// SPDX-License-Identifier: Apache-2.0
// The devices a run uses: found, described and opened.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/catalogue.h"
#include "gpubench/device.h"
#include "gpubench/report.h"
#include "libs/libraries.h"

namespace gpubench {

/// True for `--device cpu`.
bool wants_cpu(const std::string& device_option);

/// GPUs of this machine with what NVML adds and their catalogue entries. Throws DeviceError (exit
/// code 3) where there is no usable driver or GPU; the message says why and names `--device cpu`.
std::vector<ReportDevice> describe_gpus(Libraries& libraries, const Catalogue& catalogue);
ReportDevice describe_cpu();

/// The described devices that the option names, in its order.
std::vector<ReportDevice> choose_devices(const std::string& device_option, Libraries& libraries,
                                         const Catalogue& catalogue);
std::unique_ptr<Device> open_device(const DeviceInfo& info);

}  // namespace gpubench
