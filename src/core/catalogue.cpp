// SPDX-License-Identifier: Apache-2.0
#include "core/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "gpubench/error.h"
#include "util/json_file.h"
#include "util/text.h"

namespace gpubench {
namespace {

using nlohmann::json;

const std::vector<std::string> kPeakKeys{"fp64", "fp64_tensor", "fp32", "tf32",
                                         "fp16", "bf16",        "fp8",  "int8"};

struct Figure {
  double value = 0;
  std::vector<std::string> sources;
};

/// Reads one catalogue file; every error names the file and the entry.
class Reader {
 public:
  Reader(const json& root, std::string_view origin) : root_(root), origin_(origin) {
    only(root, "the file", {"note", "sources", "rates", "devices"});
  }

  const json& member(const json& object, const char* key, const std::string& where) const {
    const auto found = object.find(key);
    if (found == object.end()) fail(where, std::string("has no \"") + key + "\"");
    return *found;
  }

  void only(const json& object, const std::string& where,
            const std::vector<std::string>& allowed) const {
    if (!object.is_object()) fail(where, "must be an object");
    for (const auto& [key, value] : object.items()) {
      if (std::find(allowed.begin(), allowed.end(), key) == allowed.end()) {
        fail(where, "unknown member \"" + key + "\"" + suggestion(key, allowed));
      }
    }
  }

  std::string text(const json& value, const std::string& where) const {
    if (!value.is_string() || value.get<std::string>().empty()) fail(where, "must be a text");
    return value.get<std::string>();
  }

  std::vector<std::string> texts(const json& value, const std::string& where) const {
    if (!value.is_array()) fail(where, "must be a list of texts");
    std::vector<std::string> result;
    for (const json& element : value) result.push_back(text(element, where));
    return result;
  }

  /// [number, "SOURCE", ...]: no number without a source.
  Figure figure(const json& value, const std::string& where) const {
    if (!value.is_array() || value.empty() || !value[0].is_number()) {
      fail(where, "must be [number, \"SOURCE\", ...]");
    }
    Figure result{.value = value[0].get<double>(), .sources = {}};
    if (!(result.value > 0)) fail(where, "must be above 0");
    result.sources = texts(json(value.begin() + 1, value.end()), where);
    if (result.sources.empty()) fail(where, "has no source");
    for (const std::string& source : result.sources) source_text(source, where);
    return result;
  }

  /// "title (address)" of a source key.
  std::string source_text(const std::string& key, const std::string& where) const {
    const json& sources = member(root_, "sources", "the file");
    const auto found = sources.find(key);
    if (found == sources.end())
      fail(where, "names the source '" + key + "', which \"sources\" lacks");
    const std::string title = text(member(*found, "title", key), key);
    const json& url = member(*found, "url", key);
    return url.is_null() ? title : title + " (" + text(url, key) + ")";
  }

  [[noreturn]] void fail(const std::string& where, const std::string& what) const {
    throw ConfigError(origin_ + ": " + where + ": " + what);
  }

 private:
  const json& root_;
  std::string origin_;
};

std::uint32_t parse_pci(const Reader& reader, const std::string& text, const std::string& where) {
  std::uint32_t id = 0;
  const char* end = text.data() + text.size();
  if (text.size() == 6 && text.compare(0, 2, "0x") == 0) {
    const auto [rest, error] = std::from_chars(text.data() + 2, end, id, 16);
    if (error == std::errc{} && rest == end) return id;
  }
  reader.fail(where, "'" + text + "' is no PCI device id such as 0x2335");
}

/// Collects the sources of the figures it reads, each once.
class SpecReader {
 public:
  SpecReader(const Reader& reader, std::string where, DeviceSpec& spec)
      : reader_(reader), where_(std::move(where)), spec_(spec) {}

  std::optional<double> number(const json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end() || found->is_null()) return std::nullopt;
    return take(*found, where_ + "." + key);
  }

  std::map<std::string, double> numbers(const json& object, const char* key) {
    const std::string where = where_ + "." + key;
    const json& group = reader_.member(object, key, where_);
    reader_.only(group, where, kPeakKeys);
    std::map<std::string, double> result;
    for (const auto& [name, value] : group.items()) {
      if (!value.is_null()) result[name] = take(value, where + "." + name);
    }
    return result;
  }

  void use(const std::vector<std::string>& sources) {
    for (const std::string& source : sources) {
      if (seen_.insert(source).second) {
        spec_.sources.push_back(reader_.source_text(source, where_));
      }
    }
  }

 private:
  double take(const json& value, const std::string& where) {
    const Figure figure = reader_.figure(value, where);
    use(figure.sources);
    return figure.value;
  }

  const Reader& reader_;
  std::string where_;
  DeviceSpec& spec_;
  std::set<std::string> seen_;
};

DeviceSpec read_spec(const Reader& reader, const json& root, const json& entry,
                     const std::string& id) {
  reader.only(entry, id,
              {"id", "name", "arch", "pci", "device_names", "identity_sources", "note", "sm_count",
               "dense_tflops", "memory_gb_per_s", "nvlink_gb_per_s", "pcie_gb_per_s", "tdp_w"});
  DeviceSpec spec;
  spec.id = id;
  spec.marketing_name = reader.text(reader.member(entry, "name", id), id + ".name");
  SpecReader figures(reader, id, spec);
  figures.use(reader.texts(reader.member(entry, "identity_sources", id), id + ".identity_sources"));
  spec.dense_tflops = figures.numbers(entry, "dense_tflops");
  spec.memory_gb_per_s = figures.number(entry, "memory_gb_per_s");
  spec.nvlink_gb_per_s = figures.number(entry, "nvlink_gb_per_s");
  spec.pcie_gb_per_s = figures.number(entry, "pcie_gb_per_s");
  spec.tdp_w = figures.number(entry, "tdp_w");
  if (const auto sms = figures.number(entry, "sm_count")) spec.sm_count = static_cast<int>(*sms);

  const std::string arch = reader.text(reader.member(entry, "arch", id), id + ".arch");
  const json& rates = reader.member(root, "rates", "the file");
  if (!rates.contains(arch)) reader.fail(id, "\"rates\" has no '" + arch + "'");
  spec.flops_per_clk_per_sm = figures.numbers(rates, arch.c_str());
  return spec;
}

/// "GRID A100-40C", "NVIDIA H100XM-80C", "NVIDIA A100-1-10C": a vGPU profile ends in gigabytes and
/// a class.
bool is_vgpu_name(std::string_view name) {
  if (name.substr(0, 5) == "GRID ") return true;
  const std::size_t dash = name.rfind('-');
  if (dash == std::string_view::npos) return false;
  const std::string_view profile = name.substr(dash + 1);
  if (profile.size() < 2 ||
      std::string_view("ABCQ").find(profile.back()) == std::string_view::npos) {
    return false;
  }
  return profile.find_first_not_of("0123456789") == profile.size() - 1;
}

bool is_mig(const DeviceInfo& device) {
  return device.mig.value_or(false) || device.name.find(" MIG ") != std::string::npos;
}

}  // namespace

Catalogue Catalogue::parse(std::string_view text, std::string_view origin) {
  const json root = parse_json(text, origin);
  const Reader reader(root, origin);
  const json& entries = reader.member(root, "devices", "the file");
  if (!entries.is_array()) reader.fail("devices", "must be a list");
  Catalogue catalogue;
  std::set<std::string> taken;  // ids, PCI ids and names: each identifies one entry
  for (const json& entry : entries) {
    const std::string id = reader.text(reader.member(entry, "id", "an entry"), "an entry's id");
    std::vector<std::uint32_t> pci;
    for (const std::string& name : reader.texts(reader.member(entry, "pci", id), id + ".pci")) {
      pci.push_back(parse_pci(reader, name, id));
      if (!taken.insert("pci " + lower(name)).second) reader.fail(id, name + " is there twice");
    }
    std::vector<std::string> names =
        reader.texts(reader.member(entry, "device_names", id), id + ".device_names");
    for (const std::string& name : names) {
      if (!taken.insert("name " + name).second) reader.fail(id, "'" + name + "' is there twice");
    }
    if (!taken.insert("id " + id).second) reader.fail(id, "is there twice");
    catalogue.specs_.push_back(read_spec(reader, root, entry, id));
    catalogue.pci_.push_back(std::move(pci));
    catalogue.names_.push_back(std::move(names));
  }
  return catalogue;
}

DeviceMatch Catalogue::match(const DeviceInfo& device) const {
  const auto none = [](const std::string& why) {
    return DeviceMatch{.spec = std::nullopt, .rule = "none: " + why};
  };
  if (device.kind == DeviceKind::cpu) return none("the cpu device has no published peaks");
  if (is_mig(device)) return none("a MIG instance is a part of its GPU");
  if (is_vgpu_name(device.name)) return none("a vGPU shares its GPU");

  const auto found = [&](std::size_t index, const std::string& rule) {
    const DeviceSpec& spec = specs_[index];
    if (spec.sm_count && device.sm_count > 0 && device.sm_count < *spec.sm_count) {
      return none(fmt::format("{} is {}, but only {} of its {} SMs are visible", rule,
                              spec.marketing_name, device.sm_count, *spec.sm_count));
    }
    return DeviceMatch{.spec = spec, .rule = rule};
  };
  if (device.pci_device) {
    for (std::size_t i = 0; i < pci_.size(); ++i) {
      if (std::find(pci_[i].begin(), pci_[i].end(), *device.pci_device) != pci_[i].end()) {
        return found(i, fmt::format("pci:0x{:04X}", *device.pci_device));
      }
    }
  }
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (std::find(names_[i].begin(), names_[i].end(), device.name) != names_[i].end()) {
      return found(i, "name:" + device.name);
    }
  }
  const std::string pci =
      device.pci_device ? fmt::format("PCI id 0x{:04X} and ", *device.pci_device) : "";
  return none(fmt::format("{}name '{}' {} not in the catalogue", pci, device.name,
                          pci.empty() ? "is" : "are"));
}

}  // namespace gpubench
