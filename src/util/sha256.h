// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4), to name a suite file or a binary by its content.
#pragma once

#include <string>
#include <string_view>

namespace gpubench {

/// 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

}  // namespace gpubench
