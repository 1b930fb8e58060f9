// SPDX-License-Identifier: Apache-2.0
#include "core/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "util/text.h"

namespace gpubench {
namespace {

constexpr std::string_view kMig = " MIG ";

DeviceMatch none(const std::string& why) {
  return DeviceMatch{.spec = std::nullopt, .rule = "none: " + why};
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || rest != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Gigabytes of a MIG profile: 20 for "3g.20gb", "1c.3g.20gb" and "1g.20gb+me".
std::optional<double> profile_gb(const std::string& profile) {
  const std::string plain = profile.substr(0, profile.find('+'));
  const std::size_t dot = plain.rfind('.');
  if (dot == std::string::npos || !plain.ends_with("gb")) return std::nullopt;
  return number(std::string_view(plain).substr(dot + 1, plain.size() - dot - 3));
}

/// A guest's name: "NVIDIA H100XM-1-10C" is board "NVIDIA H100XM", on a MIG instance, 10 GB.
struct VgpuName {
  std::string board;
  bool on_mig = false;
  double memory_gb = 0;
};

/// A vGPU profile ends in gigabytes and a class, before it the slices of a MIG instance:
/// "GRID A100-40C", "NVIDIA A100X-1-10C", "NVIDIA A100X-1-5CME".
std::optional<VgpuName> parse_vgpu_name(std::string_view name) {
  if (name.ends_with("ME")) name.remove_suffix(2);
  const std::size_t dash = name.rfind('-');
  if (dash == std::string_view::npos) return std::nullopt;
  std::string_view profile = name.substr(dash + 1);
  if (profile.size() < 2 || std::string_view("ABCQ").find(profile.back()) == profile.npos) {
    return std::nullopt;
  }
  profile.remove_suffix(1);
  if (profile.find_first_not_of("0123456789") != profile.npos) return std::nullopt;
  VgpuName vgpu{.board = std::string(name.substr(0, dash)), .memory_gb = *number(profile)};
  const std::size_t slices = vgpu.board.rfind('-');
  if (slices != std::string::npos &&
      vgpu.board.find_first_not_of("0123456789", slices + 1) == std::string::npos) {
    vgpu.on_mig = true;
    vgpu.board.resize(slices);
  }
  return vgpu;
}

/// The entry of an instance: its board's, scaled.
DeviceMatch instance_of(const DeviceSpec& board, const DeviceInfo& device, double memory_gb,
                        const std::string& rule) {
  DeviceSpec spec = board;
  std::vector<std::string> parts;
  const bool sms_known =
      board.sm_count && device.sm_count > 0 && device.sm_count <= *board.sm_count;
  if (sms_known) {
    for (auto& [dtype, tflops] : spec.dense_tflops) {
      tflops *= static_cast<double>(device.sm_count) / *board.sm_count;
    }
    parts.push_back(fmt::format("{} of {} SMs", device.sm_count, *board.sm_count));
    spec.sm_count = device.sm_count;
  } else {
    spec.dense_tflops.clear();
    parts.emplace_back("SMs unknown");
  }
  if (board.mig_memory_slices && board.memory_gb && memory_gb > 0) {
    // Profiles round down: 1g.18gb is one eighth of 141 GB.
    const int all = *board.mig_memory_slices;
    const int slices =
        std::clamp(static_cast<int>(std::lround(memory_gb / *board.memory_gb * all)), 1, all);
    if (spec.memory_gb_per_s) *spec.memory_gb_per_s *= static_cast<double>(slices) / all;
    parts.push_back(fmt::format("{}/{} of the memory", slices, all));
  } else {
    spec.memory_gb_per_s.reset();
    parts.emplace_back("share of the memory unknown");
  }
  spec.memory_gb = memory_gb > 0 ? std::optional(memory_gb) : std::nullopt;
  spec.nvlink_links.reset();
  spec.nvlink_gb_per_s.reset();
  spec.tdp_w.reset();
  spec.marketing_name += fmt::format(", {:g} GB instance (peaks derived)", memory_gb);
  return {.spec = std::move(spec), .rule = rule + ": " + join(parts, ", ")};
}

}  // namespace

std::optional<Catalogue::Found> Catalogue::find(const std::string& name,
                                                const std::optional<std::uint32_t>& pci) const {
  for (std::size_t i = 0; pci && i < pci_.size(); ++i) {
    if (std::find(pci_[i].begin(), pci_[i].end(), *pci) != pci_[i].end()) {
      return Found{i, fmt::format("pci:0x{:04X}", *pci)};
    }
  }
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (std::find(names_[i].begin(), names_[i].end(), name) != names_[i].end()) {
      return Found{i, "name:" + name};
    }
  }
  return std::nullopt;
}

DeviceMatch Catalogue::match_vgpu(const DeviceInfo& device) const {
  const std::optional<VgpuName> vgpu = parse_vgpu_name(device.name);
  const auto entry = vgpu ? vgpu_.find(vgpu->board) : vgpu_.end();
  if (entry == vgpu_.end()) return none("a vGPU shares its GPU");
  const auto board = std::find_if(specs_.begin(), specs_.end(),
                                  [&](const DeviceSpec& spec) { return spec.id == entry->second; });
  if (!vgpu->on_mig) {
    return none(fmt::format("a time-sliced vGPU of {}: its share of the SMs changes",
                            board->marketing_name));
  }
  return instance_of(*board, device, vgpu->memory_gb, "vgpu:" + device.name);
}

DeviceMatch Catalogue::match(const DeviceInfo& device) const {
  if (device.kind == DeviceKind::cpu) return none("the cpu device has no published peaks");
  const std::size_t mig = device.name.find(kMig);
  if (mig != std::string::npos) {
    const std::string profile = device.name.substr(mig + kMig.size());
    const auto board = find(device.name.substr(0, mig), device.pci_device);
    if (!board) return none("a MIG instance of a GPU that is not in the catalogue");
    return instance_of(specs_[board->index], device, profile_gb(profile).value_or(0),
                       "mig:" + profile + " of " + board->rule);
  }
  if (device.mig.value_or(false)) return none("MIG is on, but the name tells no profile");
  if (device.name.starts_with("GRID ") || parse_vgpu_name(device.name)) return match_vgpu(device);

  const auto found = find(device.name, device.pci_device);
  if (!found) {
    const std::string pci =
        device.pci_device ? fmt::format("PCI id 0x{:04X} and ", *device.pci_device) : "";
    return none(fmt::format("{}name '{}' {} not in the catalogue", pci, device.name,
                            pci.empty() ? "is" : "are"));
  }
  const DeviceSpec& spec = specs_[found->index];
  if (spec.sm_count && device.sm_count > 0 && device.sm_count < *spec.sm_count) {
    return none(fmt::format("{} is {}, but only {} of its {} SMs are visible", found->rule,
                            spec.marketing_name, device.sm_count, *spec.sm_count));
  }
  return {.spec = spec, .rule = found->rule};
}

}  // namespace gpubench
