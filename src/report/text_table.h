// SPDX-License-Identifier: Apache-2.0
// Aligned columns for a terminal, or the same as Markdown. Text from a report may hold anything:
// bytes that are not UTF-8 and control characters are replaced, widths are counted in terminal
// cells.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gpubench {

struct TableOptions {
  std::size_t width = 120;  ///< terminal columns; 0: as wide as it needs
  bool colour = false;      ///< ANSI colours
  bool markdown = false;
};

enum class Tone { plain, faint, good, caution, bad };

struct Cell {
  std::string text;
  Tone tone = Tone::plain;
};

enum class Align { left, right };

/// Columns that are empty in every row are left out. The first column is wrapped where the table is
/// wider than the terminal.
class TextTable {
 public:
  struct Column {
    std::string title;
    Align align = Align::left;
  };

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// `notes` are sentences printed below the row.
  void add_row(std::vector<Cell> cells, std::vector<std::string> notes = {});
  bool empty() const { return rows_.empty(); }
  std::string render(const TableOptions& options) const;

 private:
  struct Row {
    std::vector<Cell> cells;
    std::vector<std::string> notes;
  };
  std::string render_markdown() const;
  std::string render_text(const TableOptions& options) const;
  std::vector<std::size_t> used_columns() const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

/// Valid UTF-8 on one line, without control characters.
std::string printable(std::string_view text);

/// The same, but line ends stay.
std::string printable_lines(std::string_view text);

/// Terminal cells that printable text takes.
std::size_t display_width(std::string_view text);

/// `text` broken at spaces into lines of at most `width` cells; a longer word keeps its own line.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

/// `text` in the tone's colour, or as it is where colour is off.
std::string coloured(std::string_view text, Tone tone, bool colour);

}  // namespace gpubench
