// SPDX-License-Identifier: Apache-2.0
#include "app/configs.h"

#include <filesystem>
#include <string_view>

#include "app/embedded_configs.h"
#include "gpubench/error.h"
#include "util/file.h"
#include "util/text.h"

namespace gpubench {
namespace {

constexpr std::string_view kSuiteFolder = "suites/";
constexpr std::string_view kJson = ".json";

const EmbeddedConfig* find_embedded(std::string_view path) {
  for (const EmbeddedConfig& config : embedded_configs()) {
    if (config.path == path) return &config;
  }
  return nullptr;
}

bool is_path(const std::string& suite) {
  return suite.find('/') != std::string::npos || suite.ends_with(kJson);
}

Suite load_with(const IncludeFn& include, const std::string& name, DeviceKind kind) {
  if (is_path(name)) {
    return parse_suite(read_file(name), name, kind, include);
  }
  if (const EmbeddedConfig* config =
          find_embedded(std::string(kSuiteFolder) + name + std::string(kJson))) {
    return parse_suite(config->text, "suite " + name, kind, include);
  }
  const std::vector<std::string> names = suite_names();
  const std::string near = nearest(name, names);
  throw ConfigError(
      "unknown suite '" + name + "'" + (near.empty() ? "." : "; did you mean '" + near + "'?") +
      " Shipped: " + join(names, ", ") + ". A file needs a slash or .json: ./mine.json");
}

}  // namespace

std::vector<std::string> suite_names() {
  std::vector<std::string> names;
  for (const EmbeddedConfig& config : embedded_configs()) {
    if (!config.path.starts_with(kSuiteFolder)) continue;
    names.emplace_back(config.path.substr(kSuiteFolder.size(),
                                          config.path.size() - kSuiteFolder.size() - kJson.size()));
  }
  return names;
}

Suite load_suite(const std::string& name, DeviceKind kind) {
  // A path in a file is meant from the file's folder.
  const std::filesystem::path folder = std::filesystem::path(name).parent_path();
  const auto include = [&](const std::string& included) {
    return load_with({}, is_path(included) ? (folder / included).string() : included, kind);
  };
  return load_with(include, name, kind);
}

Catalogue load_catalogue(const std::string& file) {
  const EmbeddedConfig* config = find_embedded("devices.json");
  if (config == nullptr) throw ConfigError("this build holds no configs/devices.json");
  Catalogue catalogue = Catalogue::parse(config->text, "configs/devices.json");
  if (!file.empty()) catalogue.add(read_file(file), file);
  return catalogue;
}

}  // namespace gpubench
