// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "app/configs.h"
#include "app/verbs.h"
#include "gpubench/error.h"
#include "report/writer.h"
#include "util/text.h"

namespace gpubench {
namespace {

std::string figure(const std::optional<double>& value) {
  return value ? fmt::format("{:g}", *value) : std::string("-");
}

std::string peak(const DeviceSpec& spec, const std::string& key) {
  const auto found = spec.dense_tflops.find(key);
  return figure(found == spec.dense_tflops.end() ? std::nullopt : std::optional(found->second));
}

void print_table(const std::vector<DeviceSpec>& specs) {
  constexpr auto kRow =
      "{:<28} {:>6} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>9} {:>7} {:>6} {:>6}\n";
  fmt::print(kRow, "id", "fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8", "GB/s", "NVLink",
             "PCIe", "TDP W");
  for (const DeviceSpec& spec : specs) {
    fmt::print(kRow, spec.id, peak(spec, "fp64"), peak(spec, "fp32"), peak(spec, "tf32"),
               peak(spec, "fp16"), peak(spec, "bf16"), peak(spec, "fp8"), peak(spec, "int8"),
               figure(spec.memory_gb_per_s), figure(spec.nvlink_gb_per_s),
               figure(spec.pcie_gb_per_s), figure(spec.tdp_w));
  }
  fmt::print(
      "\nDense TFLOP/s (int8: TOPS) as published; NVLink and PCIe in GB/s per direction; - is not "
      "published.\n");
}

/// A contradiction is an error of the file, so the exit code is that of bad input.
ExitCode check(const Catalogue& catalogue) {
  const std::vector<std::string> found = catalogue.contradictions();
  for (const std::string& line : found) fmt::print("{}\n", line);
  fmt::print("{} entries, {} contradictions\n", catalogue.specs().size(), found.size());
  return found.empty() ? ExitCode::fine : ExitCode::usage;
}

}  // namespace

ExitCode specs_verb(const SpecsOptions& options) {
  const Catalogue catalogue = load_catalogue(options.catalogue);
  if (options.check && (options.json || !options.id.empty())) {
    throw ConfigError("--check is of the whole catalogue, as text: leave out --json and the name");
  }
  if (options.check) return check(catalogue);
  std::vector<DeviceSpec> chosen;
  std::vector<std::string> ids;
  for (const DeviceSpec& spec : catalogue.specs()) {
    ids.push_back(spec.id);
    if (options.id.empty() || spec.id == options.id) chosen.push_back(spec);
  }
  if (chosen.empty()) {
    const std::string near = nearest(options.id, ids);
    throw ConfigError("the catalogue has no '" + options.id + "'" +
                      (near.empty() ? "; see `gpubench specs`" : "; did you mean '" + near + "'?"));
  }
  if (options.json) {
    fmt::print("{}\n", specs_to_json(chosen));
    return ExitCode::fine;
  }
  print_table(chosen);
  if (!options.id.empty()) {
    if (!chosen.front().note.empty()) fmt::print("\nnote: {}\n", chosen.front().note);
    fmt::print("\nsources\n");
    for (const std::string& source : chosen.front().sources) fmt::print("  {}\n", source);
  }
  return ExitCode::fine;
}

}  // namespace gpubench
