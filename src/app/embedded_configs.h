// SPDX-License-Identifier: Apache-2.0
// Files of configs/ as they were at build time; the definition is generated.
#pragma once

#include <string_view>
#include <vector>

namespace gpubench {

struct EmbeddedConfig {
  std::string_view path;  ///< below configs/: "suites/bert.json"
  std::string_view text;
};

const std::vector<EmbeddedConfig>& embedded_configs();

}  // namespace gpubench
