// SPDX-License-Identifier: Apache-2.0
// Small text helpers: nearest names for error messages, globs, splitting, numbers for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpubench {

/// The candidate that `word` was probably meant to be (misspelt, or a part of it); empty if none is
/// close.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

/// "; did you mean 'X'?" for the nearest candidate, or empty: the tail of an error message.
std::string suggestion(std::string_view word, const std::vector<std::string>& candidates);

/// '*' matches any run of characters (also none), '?' exactly one; everything else itself.
bool glob_match(std::string_view pattern, std::string_view text);

/// Whether `text` has a '*' or '?'.
bool is_glob(std::string_view text);

/// Pieces between separators; empty pieces are kept, so "" gives one empty piece.
std::vector<std::string> split(std::string_view text, char separator);

std::string join(const std::vector<std::string>& pieces, std::string_view separator);

/// ASCII letters in lower case.
std::string lower(std::string_view text);

/// `text` without spaces and tabs at its ends.
std::string trimmed(std::string_view text);

/// `text` with every byte that is not part of valid UTF-8 replaced by U+FFFD.
std::string valid_utf8(std::string_view text);

/// "12.3 us": three significant digits with ns, us, ms or s; "-" if not finite.
std::string format_time(double seconds);

/// "12.5 GiB", or MiB, KiB, B where smaller.
std::string format_gib(std::uint64_t bytes);

}  // namespace gpubench
