// SPDX-License-Identifier: Apache-2.0
#include "util/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace gpubench {
namespace {

/// Edits (insert, delete, replace, swap of neighbours) from one word to the other.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) previous[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        current[j] = std::min(current[j], before[j - 2] + 1);
      }
    }
    std::swap(before, previous);
    std::swap(previous, current);
  }
  return previous[b.size()];
}

constexpr double kFar = 1e9;
constexpr std::size_t kShortestStart = 3;  // of a name, that stands for it

/// Smaller is nearer: the same first, then a long enough start ("h200" means "h200-sxm-141gb", not
/// "b200"), edits, a short one being the beginning of the other, and being a part of it.
double distance(std::string_view word, std::string_view candidate) {
  if (word.empty() || candidate.empty()) return kFar;
  const std::size_t longest = std::max(word.size(), candidate.size());
  const std::size_t edits = edit_distance(word, candidate);
  const auto gap = static_cast<double>(longest - std::min(word.size(), candidate.size())) / 1000.0;
  if (edits > 0 && word.size() >= kShortestStart && candidate.starts_with(word)) return 0.25 + gap;
  // One-letter names (m, n, k) are all one edit apart: that says nothing.
  if (edits < longest && edits <= std::max<std::size_t>(1, longest / 3)) {
    return static_cast<double>(edits);
  }
  const bool prefix =
      candidate.substr(0, word.size()) == word || word.substr(0, candidate.size()) == candidate;
  if (std::min(word.size(), candidate.size()) >= 2 && prefix) return 100 + gap;
  const bool part = candidate.find(word) != std::string_view::npos ||
                    word.find(candidate) != std::string_view::npos;
  if (std::min(word.size(), candidate.size()) >= 3 && part) return 200 + gap;
  return kFar;
}

/// Length of the valid UTF-8 sequence at the start of `text` (not empty); 0 if there is none.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  std::size_t length = 0;
  unsigned low = 0x80,
           high = 0xBF;  // of the second byte: no overlong forms, surrogates, > U+10FFFF
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  }
  if (length == 0 || text.size() < length) return 0;
  if (byte(1) < low || byte(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xBF) return 0;
  }
  return length;
}

/// Three significant digits of a value in [0, 1000).
std::string three_digits(double value) {
  const double size = std::fabs(value);
  if (size >= 99.95) return fmt::format("{:.0f}", value);
  if (size >= 9.995) return fmt::format("{:.1f}", value);
  return fmt::format("{:.2f}", value);
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string wanted = lower(word);
  std::string best;
  double best_distance = kFar;
  for (const std::string& candidate : candidates) {
    const std::string text = lower(candidate);
    double apart = distance(wanted, text);
    // "gemn" means "ops/gemm": the last part of a path counts too, a little less.
    if (const std::size_t slash = text.rfind('/'); slash != std::string::npos) {
      apart = std::min(apart, distance(wanted, std::string_view(text).substr(slash + 1)) + 0.5);
    }
    if (apart < best_distance) {
      best_distance = apart;
      best = candidate;
    }
  }
  return best;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string name = nearest(word, candidates);
  return name.empty() ? "" : "; did you mean '" + name + "'?";
}

bool glob_match(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0;
  std::size_t star = std::string_view::npos, star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;  // let the last star take one character more
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool is_glob(std::string_view text) { return text.find_first_of("*?") != std::string_view::npos; }

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> pieces;
  for (;;) {
    const std::size_t end = text.find(separator);
    pieces.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + 1);
  }
}

std::string join(const std::vector<std::string>& pieces, std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (i > 0) text += separator;
    text += pieces[i];
  }
  return text;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \t") - begin + 1));
}

std::string valid_utf8(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    if (length == 0) {
      result += "\xEF\xBF\xBD";
      text.remove_prefix(1);
    } else {
      result += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return result;
}

std::string format_time(double seconds) {
  if (!std::isfinite(seconds)) return "-";
  constexpr std::array<const char*, 4> kUnits{"ns", "us", "ms", "s"};
  double value = seconds * 1e9;
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && std::fabs(value) >= 999.5) {
    value /= 1000;
    ++unit;
  }
  return three_digits(value) + " " + kUnits[unit];
}

std::string format_gib(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  constexpr std::array<const char*, 3> kUnits{"KiB", "MiB", "GiB"};
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && value >= 1023.5) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", value >= 999.5 ? fmt::format("{:.0f}", value) : three_digits(value),
                     kUnits[unit]);
}

}  // namespace gpubench
