// SPDX-License-Identifier: Apache-2.0
// JSON text to values, with errors that say where.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace gpubench {

/// Throws ConfigError "origin:line:column: ..." for malformed or truncated text and for a key that
/// is there twice in one object.
nlohmann::json parse_json(std::string_view text, std::string_view origin);

}  // namespace gpubench
