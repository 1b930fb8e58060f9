// SPDX-License-Identifier: Apache-2.0
// What a run has measured so far, in a file beside the report: one header line, then one line per
// case, on the disk after every case. Whatever ends the process, at most the case under way is
// lost.
#pragma once

#include <string>

#include "gpubench/report.h"

namespace gpubench {

class Journal {
 public:
  /// Starts REPORT_PATH.journal with everything of `header` but its results. A journal that is
  /// already there (of a run that did not end), with at least one finished case, is kept as
  /// REPORT_PATH.journal.old, or .old2 and so on where that exists. Throws ConfigError E_OUTPUT
  /// while another run writes to it or where something else has its name, else Error E_WRITE; what
  /// was there is then there again.
  Journal(const std::string& report_path, const Report& header);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// Returns once the line is on the disk. Throws Error E_WRITE.
  void append(const Result& result);
  /// Call when the report has been saved: the journal is no longer needed.
  void remove() noexcept;
  /// Call when the report that has been saved also holds what the earlier run's journal did.
  void remove_kept() noexcept;

  const std::string& path() const { return path_; }
  /// Where an earlier run's journal was moved to; empty if there was none.
  const std::string& kept() const { return kept_; }

 private:
  void make_way(const std::string& report_path);
  void begin(const std::string& report_path, const Report& header);
  void write_line(std::string line);

  std::string path_;
  std::string kept_;
  int file_ = -1;
};

/// Whether a file with this first line is a journal.
bool is_journal_header(std::string_view line);

struct JournalContents {
  Report report;      ///< `complete` is false
  bool torn = false;  ///< the last line was not written to its end; it is left out
};

/// Throws ConfigError.
JournalContents read_journal(const std::string& path);

}  // namespace gpubench
