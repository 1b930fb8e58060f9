// SPDX-License-Identifier: Apache-2.0
// Where a run's report goes: checked before the run, a journal line after each case, the whole at
// the end.
#pragma once

#include <memory>
#include <string>

#include "gpubench/report.h"
#include "report/journal.h"

namespace gpubench {

class ReportFile {
 public:
  /// `out` empty: "gpubench-<suite>-<time>.json" in the current folder; "-" or one of
  /// its names below /dev: stdout. Throws
  /// ConfigError E_OUTPUT when the file could not be written.
  ReportFile(const std::string& out, const std::string& suite, const Report& header);

  /// Throws Error E_WRITE.
  void append(const Result& result);
  void give_up_journal() { journal_.reset(); }
  /// The journal of an earlier run that was in the way is part of this one's report: save() removes
  /// it too.
  void take_over_kept_journal() { kept_is_taken_over_ = true; }
  /// Writes the report and removes the journal. When that fails (full disk, closed stdout) the
  /// journal stays, the report is tried in the temporary folder, and Error E_WRITE names both.
  void save(const Report& report);

  bool is_stdout() const { return path_ == "-"; }
  const std::string& path() const { return path_; }
  /// Empty where there is none. Reports that are links to one file share it.
  std::string journal_path() const { return journal_ ? journal_->path() : std::string(); }
  /// Where the journal of an earlier run that did not end was moved to; empty if there was none.
  std::string kept_journal() const { return journal_ ? journal_->kept() : std::string(); }

 private:
  std::string path_;
  std::unique_ptr<Journal> journal_;
  bool kept_is_taken_over_ = false;
};

}  // namespace gpubench
