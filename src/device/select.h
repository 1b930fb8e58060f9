// SPDX-License-Identifier: Apache-2.0
// What `--device` means: ordinals, UUIDs, PCI ids or "all". Pure.
#pragma once

#include <string>
#include <vector>

#include "gpubench/device_info.h"

namespace gpubench {

/// Ordinals (DeviceInfo::index) that a comma list names, in its order. An entry is an ordinal, a
/// UUID or a prefix of one that only one device has ("GPU-5f1e"), or a PCI id ("0000:1b:00.0",
/// "1B:00.0"); "all" stands alone. Throws ConfigError naming what was asked for and what there is;
/// the same device twice is refused, whatever the two spellings.
std::vector<int> parse_device_list(const std::string& text, const std::vector<DeviceInfo>& devices);

/// Throws ConfigError for an entry that names no device on any machine, so that a typing error is
/// told even where there is no GPU.
void check_device_list(const std::string& text);

/// Lower case, a domain of four digits or more, a function: "00000000:1B:00" is "0000:1b:00.0".
/// Empty if the text is no PCI id.
std::string normal_pci_id(const std::string& text);

}  // namespace gpubench
