// SPDX-License-Identifier: Apache-2.0
// Parameters of a workload: what it accepts, and the values of one case.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gpubench/dtype.h"

namespace gpubench {

enum class ParamType { integer, boolean, choice, text };

struct ParamSpec {
  std::string name;
  ParamType type = ParamType::text;
  std::string default_value;
  std::string help;
  std::vector<std::string> choices = {};  ///< for ParamType::choice
  std::int64_t min = 1;                   ///< for ParamType::integer
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
};

ParamSpec int_param(std::string name, std::int64_t default_value, std::string help,
                    std::int64_t min = 1, std::int64_t max = std::int64_t{1} << 40);
ParamSpec bool_param(std::string name, bool default_value, std::string help);
ParamSpec choice_param(std::string name, std::string default_value,
                       std::vector<std::string> choices, std::string help);

/// Canonical values of one case, one for every ParamSpec of its workload.
/// Canonical: integers in decimal ("4K" is stored as "4096"), booleans "0" or "1".
class Params {
 public:
  /// Checks `given` against `specs` and fills in defaults. Throws ConfigError: unknown key (nearest
  /// name given, `conditions` are names too), not a number, out of range or overflowing, not one of
  /// the choices.
  static Params resolve(const std::vector<ParamSpec>& specs,
                        const std::map<std::string, std::string>& given,
                        const std::vector<std::string>& conditions = {});

  std::int64_t integer(std::string_view name) const;
  bool flag(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  Dtype dtype(std::string_view name = "dtype") const;

  const std::map<std::string, std::string>& values() const { return values_; }

 private:
  std::map<std::string, std::string> values_;
};

/// `workload?key=value&...`, keys sorted; parameters at their default are left out, the measuring
/// `conditions` given (only those not at their default: cache, data, mode) are in.
std::string case_id(std::string_view workload, const std::vector<ParamSpec>& specs,
                    const Params& params, const std::map<std::string, std::string>& conditions);

}  // namespace gpubench
