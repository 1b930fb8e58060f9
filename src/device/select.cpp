// SPDX-License-Identifier: Apache-2.0
#include "device/select.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "gpubench/error.h"
#include "util/text.h"

namespace gpubench {
namespace {

std::string describe(const std::vector<DeviceInfo>& devices) {
  if (devices.empty()) return "none";
  std::vector<std::string> lines;
  lines.reserve(devices.size());
  for (const DeviceInfo& device : devices) {
    lines.push_back(
        fmt::format("{} ({}, {}, {})", device.index, device.name, device.uuid, device.pci_id));
  }
  return join(lines, "; ");
}

ConfigError refuse(const std::string& why, const std::string& text,
                   const std::vector<DeviceInfo>& devices) {
  return ConfigError(fmt::format("--device {}: {}; available: {}", text, why, describe(devices)),
                     "E_DEVICE");
}

bool all_digits(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

bool is_hex(const std::string& text, std::size_t least, std::size_t most) {
  return text.size() >= least && text.size() <= most &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

constexpr const char* kEntry =
    "an entry is an ordinal, a UUID (GPU-...) or a PCI id (0000:1b:00.0)";

/// A UUID or the beginning of one.
bool is_uuid(const std::string& word) {
  return word.size() > 4 && (word.starts_with("gpu-") || word.starts_with("mig-"));
}

/// Devices that one entry of the list fits.
std::vector<const DeviceInfo*> matches(const std::string& entry,
                                       const std::vector<DeviceInfo>& devices) {
  std::vector<const DeviceInfo*> found;
  const std::string word = lower(entry);
  const bool uuid = is_uuid(word);
  const std::string pci = normal_pci_id(word);
  std::optional<int> ordinal;
  if (all_digits(word)) {
    int value = 0;
    const auto parsed = std::from_chars(word.data(), word.data() + word.size(), value);
    if (parsed.ec == std::errc()) ordinal = value;
  }
  for (const DeviceInfo& device : devices) {
    if ((ordinal && device.index == *ordinal) || (uuid && lower(device.uuid).rfind(word, 0) == 0) ||
        (!pci.empty() && normal_pci_id(device.pci_id) == pci)) {
      found.push_back(&device);
    }
  }
  return found;
}

}  // namespace

std::string normal_pci_id(const std::string& text) {
  std::vector<std::string> parts = split(lower(trimmed(text)), ':');
  if (parts.size() == 2) parts.insert(parts.begin(), "0000");
  if (parts.size() != 3) return {};
  std::vector<std::string> slot = split(parts[2], '.');
  if (slot.size() == 1) slot.push_back("0");
  if (slot.size() != 2 || !is_hex(parts[0], 1, 8) || !is_hex(parts[1], 1, 2) ||
      !is_hex(slot[0], 1, 2) || !is_hex(slot[1], 1, 1)) {
    return {};
  }
  const auto number = [](const std::string& hex) { return std::stoul(hex, nullptr, 16); };
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", number(parts[0]), number(parts[1]),
                     number(slot[0]), number(slot[1]));
}

std::vector<int> parse_device_list(const std::string& text,
                                   const std::vector<DeviceInfo>& devices) {
  std::vector<int> ordinals;
  if (lower(trimmed(text)) == "all") {
    if (devices.empty()) throw refuse("there is no device", text, devices);
    for (const DeviceInfo& device : devices) ordinals.push_back(device.index);
    return ordinals;
  }
  for (const std::string& piece : split(text, ',')) {
    const std::string entry = trimmed(piece);
    if (entry.empty()) throw refuse("an entry of the list is empty", text, devices);
    if (lower(entry) == "all") throw refuse("'all' stands alone", text, devices);
    const auto found = matches(entry, devices);
    if (found.empty()) {
      throw refuse(fmt::format("no device '{}'; {}", entry, kEntry), text, devices);
    }
    if (found.size() > 1) {
      throw refuse(fmt::format("'{}' fits {} devices; give more of it", entry, found.size()), text,
                   devices);
    }
    const int ordinal = found.front()->index;
    if (std::find(ordinals.begin(), ordinals.end(), ordinal) != ordinals.end()) {
      throw refuse(fmt::format("'{}' names device {} a second time", entry, ordinal), text,
                   devices);
    }
    ordinals.push_back(ordinal);
  }
  return ordinals;
}

void check_device_list(const std::string& text) {
  if (lower(trimmed(text)) == "all") return;
  for (const std::string& piece : split(text, ',')) {
    const std::string word = lower(trimmed(piece));
    if (word == "all" || word == "cpu") {
      throw ConfigError(fmt::format("--device {}: '{}' stands alone", text, word), "E_DEVICE");
    }
    if (!all_digits(word) && !is_uuid(word) && normal_pci_id(word).empty()) {
      throw ConfigError(
          fmt::format("--device {}: '{}' is no device; {}, 'all' or 'cpu'", text, piece, kEntry),
          "E_DEVICE");
    }
  }
}

}  // namespace gpubench
