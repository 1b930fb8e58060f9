// SPDX-License-Identifier: Apache-2.0
// Reading catalogue files.
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/catalogue.h"
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
  Reader(const std::map<std::string, std::string>& sources, std::string_view origin)
      : sources_(sources), origin_(origin) {}

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
  const std::string& source_text(const std::string& key, const std::string& where) const {
    const auto found = sources_.find(key);
    if (found == sources_.end())
      fail(where, "names the source '" + key + "', which \"sources\" lacks");
    return found->second;
  }

  [[noreturn]] void fail(const std::string& where, const std::string& what) const {
    throw ConfigError(origin_ + ": " + where + ": " + what);
  }

 private:
  const std::map<std::string, std::string>& sources_;
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

  std::optional<int> integer(const json& object, const char* key) {
    const std::optional<double> value = number(object, key);
    if (!value) return std::nullopt;
    if (*value != static_cast<int>(*value)) {
      reader_.fail(where_ + "." + key, "must be a whole number");
    }
    return static_cast<int>(*value);
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

}  // namespace

/// Takes one file into a catalogue; nothing of it stays where the file is refused.
class CatalogueReader {
 public:
  CatalogueReader(Catalogue& catalogue, std::string_view origin)
      : catalogue_(catalogue), reader_(catalogue.sources_, origin) {}

  void read(const json& root) {
    reader_.only(root, "the file", {"note", "sources", "rates", "vgpu", "devices"});
    for (const auto& [key, source] : section(root, "sources").items()) {
      const std::string title = reader_.text(reader_.member(source, "title", key), key);
      const json& url = reader_.member(source, "url", key);
      catalogue_.sources_[key] =
          url.is_null() ? title : title + " (" + reader_.text(url, key) + ")";
    }
    for (const auto& [name, rates] : section(root, "rates").items()) read_rates(name, rates);
    const json& entries = reader_.member(root, "devices", "the file");
    if (!entries.is_array()) reader_.fail("devices", "must be a list");
    for (const json& entry : entries) read_entry(entry);
    for (const auto& [prefix, id] : section(root, "vgpu").items()) {
      const std::string board = reader_.text(id, "vgpu." + prefix);
      if (!index_of(board)) reader_.fail("vgpu." + prefix, "'" + board + "' is no entry");
      catalogue_.vgpu_[prefix] = board;
    }
  }

 private:
  const json& section(const json& root, const char* key) const {
    static const json kNone = json::object();
    const auto found = root.find(key);
    if (found == root.end()) return kNone;
    if (!found->is_object()) reader_.fail(key, "must be an object");
    return *found;
  }

  void read_rates(const std::string& name, const json& rates) {
    const std::string where = "rates." + name;
    reader_.only(rates, where, kPeakKeys);
    RateClass rate;
    for (const auto& [dtype, value] : rates.items()) {
      const Figure figure = reader_.figure(value, where + "." + dtype);
      rate.flops_per_clk_per_sm[dtype] = figure.value;
      rate.sources.insert(rate.sources.end(), figure.sources.begin(), figure.sources.end());
    }
    catalogue_.rates_[name] = std::move(rate);
  }

  std::optional<std::size_t> index_of(const std::string& id) const {
    for (std::size_t i = 0; i < catalogue_.specs_.size(); ++i) {
      if (catalogue_.specs_[i].id == id) return i;
    }
    return std::nullopt;
  }

  /// Each id, PCI id and name identifies one entry of a file; `taken` are this file's.
  void claim(const std::string& what, const std::string& id) {
    if (!taken_.insert(what).second) reader_.fail(id, what + " is there twice");
  }

  void read_entry(const json& entry) {
    const std::string id = reader_.text(reader_.member(entry, "id", "an entry"), "an entry's id");
    claim("id " + id, id);
    std::vector<std::uint32_t> pci;
    for (const std::string& name : reader_.texts(reader_.member(entry, "pci", id), id + ".pci")) {
      pci.push_back(parse_pci(reader_, name, id));
      claim("PCI id " + lower(name), id);
    }
    std::vector<std::string> names =
        reader_.texts(reader_.member(entry, "device_names", id), id + ".device_names");
    for (const std::string& name : names) claim("name '" + name + "'", id);
    DeviceSpec spec = read_spec(entry, id);
    for (auto& others : catalogue_.pci_) {
      std::erase_if(others, [&](std::uint32_t other) {
        return std::find(pci.begin(), pci.end(), other) != pci.end();
      });
    }
    for (auto& others : catalogue_.names_) {
      std::erase_if(others, [&](const std::string& other) {
        return std::find(names.begin(), names.end(), other) != names.end();
      });
    }
    const std::size_t at = index_of(id).value_or(catalogue_.specs_.size());
    if (at == catalogue_.specs_.size()) {
      catalogue_.specs_.emplace_back();
      catalogue_.pci_.emplace_back();
      catalogue_.names_.emplace_back();
    }
    catalogue_.specs_[at] = std::move(spec);
    catalogue_.pci_[at] = std::move(pci);
    catalogue_.names_[at] = std::move(names);
  }

  DeviceSpec read_spec(const json& entry, const std::string& id) const {
    reader_.only(entry, id,
                 {"id",
                  "name",
                  "arch",
                  "rates",
                  "pci",
                  "device_names",
                  "identity_sources",
                  "note",
                  "sm_count",
                  "max_sm_clock_mhz",
                  "reference_clock_mhz",
                  "dense_tflops",
                  "memory_gb",
                  "memory_bus_bits",
                  "memory_clock_mhz",
                  "memory_gb_per_s",
                  "mig_memory_slices",
                  "nvlink_links",
                  "nvlink_gb_per_s",
                  "pcie_gb_per_s",
                  "tdp_w"});
    DeviceSpec spec;
    spec.id = id;
    spec.marketing_name = reader_.text(reader_.member(entry, "name", id), id + ".name");
    if (entry.contains("note")) spec.note = reader_.text(entry["note"], id + ".note");
    SpecReader figures(reader_, id, spec);
    figures.use(
        reader_.texts(reader_.member(entry, "identity_sources", id), id + ".identity_sources"));
    spec.dense_tflops = figures.numbers(entry, "dense_tflops");
    spec.max_sm_clock_mhz = figures.number(entry, "max_sm_clock_mhz");
    spec.reference_clock_mhz = figures.number(entry, "reference_clock_mhz");
    spec.memory_gb = figures.number(entry, "memory_gb");
    spec.memory_clock_mhz = figures.number(entry, "memory_clock_mhz");
    spec.memory_gb_per_s = figures.number(entry, "memory_gb_per_s");
    spec.nvlink_gb_per_s = figures.number(entry, "nvlink_gb_per_s");
    spec.pcie_gb_per_s = figures.number(entry, "pcie_gb_per_s");
    spec.tdp_w = figures.number(entry, "tdp_w");
    spec.sm_count = figures.integer(entry, "sm_count");
    spec.memory_bus_bits = figures.integer(entry, "memory_bus_bits");
    spec.mig_memory_slices = figures.integer(entry, "mig_memory_slices");
    spec.nvlink_links = figures.integer(entry, "nvlink_links");
    use_rates(entry, id, spec, figures);
    return spec;
  }

  /// The rates of the architecture, unless "rates" names others, or null: none hold for this part.
  void use_rates(const json& entry, const std::string& id, DeviceSpec& spec,
                 SpecReader& figures) const {
    std::string name = reader_.text(reader_.member(entry, "arch", id), id + ".arch");
    if (const auto own = entry.find("rates"); own != entry.end()) {
      if (own->is_null()) return;
      name = reader_.text(*own, id + ".rates");
    }
    const auto rates = catalogue_.rates_.find(name);
    if (rates == catalogue_.rates_.end()) reader_.fail(id, "\"rates\" has no '" + name + "'");
    spec.flops_per_clk_per_sm = rates->second.flops_per_clk_per_sm;
    figures.use(rates->second.sources);
  }

  Catalogue& catalogue_;
  Reader reader_;
  std::set<std::string> taken_;
};

Catalogue Catalogue::parse(std::string_view json, std::string_view origin) {
  Catalogue catalogue;
  catalogue.add(json, origin);
  return catalogue;
}

void Catalogue::add(std::string_view json, std::string_view origin) {
  Catalogue extended = *this;
  CatalogueReader(extended, origin).read(parse_json(json, origin));
  *this = std::move(extended);
}

}  // namespace gpubench
