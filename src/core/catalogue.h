// SPDX-License-Identifier: Apache-2.0
// The device catalogue (configs/devices.json) and the rule that finds a device in it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gpubench/device_info.h"

namespace gpubench {

class Catalogue {
 public:
  /// Throws ConfigError with file and line, or naming the entry that lacks a source.
  static Catalogue parse(std::string_view json, std::string_view origin);

  /// PCI device id first, the exact name second, never a substring; otherwise no spec, and the rule
  /// says why. MIG instances and vGPUs have no spec yet: the parent's peak would be wrong for them.
  DeviceMatch match(const DeviceInfo& device) const;

  const std::vector<DeviceSpec>& specs() const { return specs_; }

 private:
  std::vector<DeviceSpec> specs_;
  std::vector<std::vector<std::uint32_t>> pci_;  // per spec
  std::vector<std::vector<std::string>> names_;  // per spec
};

}  // namespace gpubench
