// SPDX-License-Identifier: Apache-2.0
// Numbers as users type them, independent of the locale, and byte counts that can't wrap around.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace gpubench {

/// "4096", "4K", "4KiB", "-1"; K, M, G, T with or without "iB" are binary. nullopt for anything
/// else and for what does not fit 64 bits.
std::optional<std::int64_t> parse_integer(std::string_view text);

/// A finite decimal number such as "0.5", "-2" or "1e-3"; nullopt for anything else.
std::optional<double> parse_real(std::string_view text);

/// Product or sum of sizes. Throws ConfigError E_SIZE_OVERFLOW where it does not fit 64 bits.
std::uint64_t checked_mul(std::initializer_list<std::uint64_t> factors);
std::uint64_t checked_add(std::initializer_list<std::uint64_t> terms);

}  // namespace gpubench
