// SPDX-License-Identifier: Apache-2.0
#include "util/json_file.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "gpubench/error.h"
#include "util/text.h"

namespace gpubench {
namespace {

/// Characters of the text that reports how far the parser has read: the parser's callback has no
/// position.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, const char** reached) : at_(at), reached_(reached) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++at_;
    *reached_ = std::max(*reached_, at_);
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** reached_;
};

/// "origin:line:column: " of the character at `offset`, both counted from 1 (columns in bytes).
std::string position(std::string_view text, std::string_view origin, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t newline = before.rfind('\n');
  const std::size_t column =
      newline == std::string_view::npos ? before.size() + 1 : before.size() - newline;
  return std::string(origin) + ":" + std::to_string(line) + ":" + std::to_string(column) + ": ";
}

/// The parser's message without its own prefix "[json.exception...] parse error at line 1, column
/// 2: ".
std::string plain_message(const std::string& what) {
  std::size_t begin = what.find("] ");
  begin = begin == std::string::npos ? 0 : begin + 2;
  if (what.compare(begin, 11, "parse error") == 0) {
    const std::size_t colon = what.find(": ", begin);
    if (colon != std::string::npos) begin = colon + 2;
  }
  return valid_utf8(what.substr(begin));
}

}  // namespace

nlohmann::json parse_json(std::string_view text, std::string_view origin) {
  const char* reached = text.data();
  const auto offset = [&] { return static_cast<std::size_t>(reached - text.data()); };
  std::vector<std::set<std::string>> keys;  // of each open object
  const auto callback = [&](int, nlohmann::json::parse_event_t event, nlohmann::json& value) {
    using Event = nlohmann::json::parse_event_t;
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end) keys.pop_back();
    if (event == Event::key && !keys.back().insert(value.get<std::string>()).second) {
      const std::size_t key_end = offset();
      const std::size_t quote = key_end < 2 ? 0 : text.rfind('"', key_end - 2);
      throw ConfigError(position(text, origin, quote == std::string_view::npos ? 0 : quote) +
                        "the key " + value.dump() + " is there twice");
    }
    return true;
  };
  const char* end = text.data() + text.size();
  try {
    return nlohmann::json::parse(CountingIterator(text.data(), &reached),
                                 CountingIterator(end, &reached), callback);
  } catch (const nlohmann::json::parse_error& error) {
    const std::size_t byte = error.byte > 0 ? error.byte - 1 : 0;
    const bool truncated = byte >= text.size();
    throw ConfigError(position(text, origin, byte) + plain_message(error.what()) +
                      (truncated ? " (the file ends too early)" : ""));
  } catch (const nlohmann::json::exception& error) {
    throw ConfigError(position(text, origin, offset()) + plain_message(error.what()));
  }
}

}  // namespace gpubench
