// SPDX-License-Identifier: Apache-2.0
#include "app/validators.h"

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <optional>

#include "util/text.h"
#include "util/units.h"

namespace gpubench {

CLI::Validator real_between(double low, double high) {
  return CLI::Validator(
      [low, high](std::string& text) {
        const std::optional<double> value = parse_real(text);
        if (value && *value >= low && *value <= high) return std::string();
        return fmt::format("'{}' is not a number from {} to {}", text, low, high);
      },
      "NUMBER");
}

CLI::Validator whole_number() {
  return CLI::Validator(
      [](std::string& text) {
        const std::optional<std::int64_t> value = parse_integer(text);
        if (value && *value >= 0) return std::string();
        return fmt::format("'{}' is not a whole number from 0 to {}", text,
                           std::numeric_limits<std::int64_t>::max());
      },
      "N");
}

CLI::Validator not_empty() {
  return CLI::Validator(
      [](const std::string& text) { return std::string(text.empty() ? "is empty" : ""); }, "TEXT");
}

void add_catalogue(CLI::App* verb, std::string& file) {
  verb->add_option("--catalogue", file, "A file of own entries, added to the shipped devices")
      ->check(not_empty());
}

}  // namespace gpubench
