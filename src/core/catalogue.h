// SPDX-License-Identifier: Apache-2.0
// The device catalogue (configs/devices.json) and the rule that finds a device in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpubench/device_info.h"

namespace gpubench {

/// FLOP per clock per SM of one kind of SM.
struct RateClass {
  std::map<std::string, double> flops_per_clk_per_sm;
  std::vector<std::string> sources;  ///< keys
};

class Catalogue {
 public:
  /// Throws ConfigError with file and line, or naming the entry that lacks a source.
  static Catalogue parse(std::string_view json, std::string_view origin);

  /// Adds a second file of the same form, which may use the sources and rates of the first. Its
  /// entries replace those of the same id, and take over the names and PCI ids they claim.
  void add(std::string_view json, std::string_view origin);

  /// PCI device id first, the exact name second, never a substring; otherwise no spec, and the rule
  /// says why. A MIG instance, and a vGPU on one, gets its board's entry with the peaks scaled: the
  /// arithmetic by the visible SMs, the bandwidth by its memory slices; links and power are shared,
  /// so unknown. A time-sliced vGPU has no spec: its share changes from moment to moment.
  DeviceMatch match(const DeviceInfo& device) const;

  /// Where an entry's published figures contradict one another: a peak that no clock of the card
  /// explains, a bandwidth that is not bus x clock. Empty if none.
  std::vector<std::string> contradictions() const;

  const std::vector<DeviceSpec>& specs() const { return specs_; }

 private:
  friend class CatalogueReader;

  struct Found {
    std::size_t index;
    std::string rule;
  };
  std::optional<Found> find(const std::string& name, const std::optional<std::uint32_t>& pci) const;
  DeviceMatch match_vgpu(const DeviceInfo& device) const;

  std::vector<DeviceSpec> specs_;
  std::vector<std::vector<std::uint32_t>> pci_;  // per spec
  std::vector<std::vector<std::string>> names_;  // per spec
  std::map<std::string, std::string> sources_;   // key -> "title (address)"
  std::map<std::string, RateClass> rates_;
  std::map<std::string, std::string> vgpu_;  // prefix of a guest's name -> id of the board
};

}  // namespace gpubench
