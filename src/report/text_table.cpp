// SPDX-License-Identifier: Apache-2.0
#include "report/text_table.h"

#include <algorithm>

#include "util/text.h"

namespace gpubench {
namespace {

constexpr std::size_t kGap = 2;          // cells between columns
constexpr std::size_t kNoteIndent = 4;   // of notes and of wrapped lines of the first column
constexpr std::size_t kLeastFirst = 24;  // the first column is not made narrower than this

/// The code point at `at` of valid UTF-8; moves `at` behind it.
char32_t next_code_point(std::string_view text, std::size_t& at) {
  const auto lead = static_cast<unsigned char>(text[at++]);
  if (lead < 0x80) return lead;
  const int more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
  char32_t point = lead & (0x3FU >> more);
  for (int i = 0; i < more && at < text.size(); ++i) {
    point = (point << 6U) | (static_cast<unsigned char>(text[at++]) & 0x3FU);
  }
  return point;
}

/// Combining marks take no cell, East Asian wide characters and emoji two (the large blocks only:
/// a misjudged rarity shifts one row).
std::size_t cells_of(char32_t point) {
  struct Range {
    char32_t low, high;
  };
  constexpr Range kNone[] = {{0x0300, 0x036F}, {0x200B, 0x200F}, {0xFE00, 0xFE0F}};
  constexpr Range kTwo[] = {{0x1100, 0x115F}, {0x2E80, 0xA4CF},   {0xAC00, 0xD7A3},
                            {0xF900, 0xFAFF}, {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},
                            {0xFFE0, 0xFFE6}, {0x1F300, 0x1FAFF}, {0x20000, 0x3FFFD}};
  const auto within = [point](const Range& range) {
    return point >= range.low && point <= range.high;
  };
  if (std::any_of(std::begin(kNone), std::end(kNone), within)) return 0;
  return std::any_of(std::begin(kTwo), std::end(kTwo), within) ? 2 : 1;
}

/// The cell filled up to `width`; only its text is coloured.
std::string padded(const std::string& text, std::size_t width, Align align, Tone tone,
                   bool colour) {
  const std::size_t used = display_width(text);
  const std::string space(width > used ? width - used : 0, ' ');
  const std::string shown = coloured(text, tone, colour && !text.empty());
  return align == Align::left ? shown + space : space + shown;
}

std::string escaped_markdown(const std::string& text) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '|' || c == '\\' || c == '<' || c == '*' || c == '_' || c == '`') out += '\\';
    out += c;
  }
  return out;
}

void trim_right(std::string& line) { line.erase(line.find_last_not_of(' ') + 1); }

}  // namespace

std::string printable(std::string_view text) {
  const std::string valid = valid_utf8(text);
  std::string out;
  for (std::size_t at = 0; at < valid.size();) {
    const std::size_t begin = at;
    const char32_t point = next_code_point(valid, at);
    // C0, DEL, C1 and the marks that reorder text could rewrite the terminal's line.
    const bool control = point < 0x20 || (point >= 0x7F && point < 0xA0) || point == 0x2028 ||
                         point == 0x2029 || (point >= 0x202A && point <= 0x202E) ||
                         (point >= 0x2066 && point <= 0x2069);
    out += control ? std::string(" ") : valid.substr(begin, at - begin);
  }
  return out;
}

std::string printable_lines(std::string_view text) {
  std::vector<std::string> lines = split(text, '\n');
  for (std::string& line : lines) line = printable(line);
  return join(lines, "\n");
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size();) width += cells_of(next_code_point(text, at));
  return width;
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  std::string line;
  for (const std::string& word : split(printable(text), ' ')) {
    if (word.empty()) continue;
    const bool fits = display_width(line) + 1 + display_width(word) <= width;
    if (!line.empty() && !fits) {
      lines.push_back(line);
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  if (!line.empty() || lines.empty()) lines.push_back(line);
  return lines;
}

std::string coloured(std::string_view text, Tone tone, bool colour) {
  const char* code = "";
  switch (tone) {
    case Tone::plain:
      return std::string(text);
    case Tone::faint:
      code = "\033[2m";
      break;
    case Tone::good:
      code = "\033[32m";
      break;
    case Tone::caution:
      code = "\033[33m";
      break;
    case Tone::bad:
      code = "\033[31m";
      break;
  }
  return colour ? code + std::string(text) + "\033[0m" : std::string(text);
}

void TextTable::add_row(std::vector<Cell> cells, std::vector<std::string> notes) {
  cells.resize(columns_.size());
  for (Cell& cell : cells) cell.text = printable(cell.text);
  rows_.push_back({std::move(cells), std::move(notes)});
}

std::string TextTable::render(const TableOptions& options) const {
  return options.markdown ? render_markdown() : render_text(options);
}

std::vector<std::size_t> TextTable::used_columns() const {
  std::vector<std::size_t> used;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const bool filled = std::any_of(rows_.begin(), rows_.end(),
                                    [c](const Row& row) { return !row.cells[c].text.empty(); });
    if (filled) used.push_back(c);
  }
  return used;
}

std::string TextTable::render_markdown() const {
  const auto used = used_columns();
  std::string head = "|";
  std::string rule = "|";
  for (const std::size_t c : used) {
    head += " " + escaped_markdown(columns_[c].title) + " |";
    rule += columns_[c].align == Align::left ? " :-- |" : " --: |";
  }
  std::string out = head + "\n" + rule + "\n";
  std::string notes;
  for (const Row& row : rows_) {
    out += "|";
    for (const std::size_t c : used) out += " " + escaped_markdown(row.cells[c].text) + " |";
    out += "\n";
    for (const std::string& note : row.notes) {
      notes += "- " + escaped_markdown(row.cells[0].text) + ": " + escaped_markdown(note) + "\n";
    }
  }
  return notes.empty() ? out : out + "\n" + notes;
}

std::string TextTable::render_text(const TableOptions& options) const {
  const auto used = used_columns();
  std::vector<std::size_t> widths;
  std::size_t total = 0;
  for (const std::size_t c : used) {
    std::size_t width = display_width(columns_[c].title);
    for (const Row& row : rows_) width = std::max(width, display_width(row.cells[c].text));
    widths.push_back(width);
    total += width + kGap;
  }
  if (used.empty()) return {};
  total -= kGap;
  if (options.width > 0 && total > options.width) {
    const std::size_t excess = total - options.width;
    const std::size_t least = std::min(widths[0], kLeastFirst);
    widths[0] = widths[0] > excess + least ? widths[0] - excess : least;
  }
  std::string out;
  const auto add_line = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) line += (i > 0 ? "  " : "") + cells[i];
    trim_right(line);
    out += line + "\n";
  };
  std::vector<std::string> line(used.size());
  for (std::size_t i = 0; i < used.size(); ++i) {
    line[i] =
        padded(columns_[used[i]].title, widths[i], columns_[used[i]].align, Tone::plain, false);
  }
  add_line(line);
  for (const Row& row : rows_) {
    // Continuation lines are indented, so they are wrapped to less.
    const std::size_t first_width = widths[0];
    auto pieces = display_width(row.cells[used[0]].text) <= first_width
                      ? std::vector<std::string>{row.cells[used[0]].text}
                      : wrap(row.cells[used[0]].text, first_width - kNoteIndent);
    for (std::size_t i = 0; i < used.size(); ++i) {
      const Cell& cell = row.cells[used[i]];
      const std::string& text = i == 0 ? pieces[0] : cell.text;
      line[i] = padded(text, widths[i], columns_[used[i]].align, cell.tone, options.colour);
    }
    add_line(line);
    for (std::size_t p = 1; p < pieces.size(); ++p) {
      out += std::string(kNoteIndent, ' ') + pieces[p] + "\n";
    }
    const std::size_t note_width =
        options.width > 2 * kNoteIndent ? options.width - kNoteIndent : std::size_t{1} << 20;
    for (const std::string& note : row.notes) {
      for (const std::string& piece : wrap(note, note_width)) {
        out += std::string(kNoteIndent, ' ') + coloured(piece, Tone::faint, options.colour) + "\n";
      }
    }
  }
  return out;
}

}  // namespace gpubench
