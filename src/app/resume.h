// SPDX-License-Identifier: Apache-2.0
// Taking up a run that did not end (`--resume`).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/run_options.h"
#include "core/suite.h"
#include "gpubench/report.h"

namespace gpubench {

/// A report, or the journal of a run that did not end. Throws ConfigError.
Report load_report_or_journal(const std::string& path);

/// Where the report of a resumed run goes unless it is told: the journal's report.
std::string resumed_out(const std::string& path);

/// What an earlier run has finished of this one's cases.
class Resume {
 public:
  /// `header`, `planned` and `options` describe the run that is about to start. Throws ConfigError
  /// E_RESUME where the earlier one was of another suite or policy, was repeated or verified
  /// otherwise, or of devices that this one does not use, or has finished cases that this one has
  /// not planned (a filter, another seed), which the merged report would lose.
  Resume(const std::string& path, const Report& header, std::span<const Case> planned,
         const RunOptions& options);

  const Report& earlier() const { return earlier_; }

  /// The earlier result of the case on a device of the new run, unless it has to run (again): what
  /// was not run, or with another seed.
  std::optional<Result> finished(const Case& work, int device) const;

  /// What a reader of the merged report should know; empty if nothing.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  Report earlier_;
  std::vector<int> device_of_;  // of the new run, per device of the earlier
  std::vector<std::string> warnings_;
};

}  // namespace gpubench
