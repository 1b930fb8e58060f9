// SPDX-License-Identifier: Apache-2.0
#include "app/resume.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "analysis/derive.h"
#include "gpubench/error.h"
#include "report/journal.h"
#include "report/reader.h"

namespace gpubench {
namespace {

constexpr std::string_view kJournal = ".journal";
constexpr std::string_view kKept = ".journal.old";
constexpr std::size_t kLongestHeader = std::size_t{1} << 20;

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw ConfigError("--resume " + path + ": " + why, "E_RESUME");
}

/// The same card, not one like it: clocks and temperatures differ between cards.
bool same_device(const DeviceInfo& a, const DeviceInfo& b) {
  return a.kind == b.kind && a.name == b.name && a.uuid == b.uuid;
}

/// What was skipped may run now: a library has been installed, memory is free. Trying costs little.
bool has_run(const Result& result) {
  return result.status != Status::not_run && result.status != Status::skipped;
}

/// That the case has a result of the same work, so that it need not run again.
bool has_finished(const Result& result, const Case& work) {
  return has_run(result) && result.id == work.id && result.data_seed == work.conditions.seed;
}

/// Results measured in two ways would stand side by side as if they were alike.
void require_same_measuring(const std::string& path, const std::vector<Result>& results,
                            const RunOptions& options) {
  for (const Result& result : results) {
    if (result.status != Status::ok) continue;
    if (!result.time_s || !(result.time_s->median > 0)) {
      refuse(path, result.id + " is ok and has no time: the file was damaged");
    }
    if (result.check && !result.check->passed) {
      refuse(path, result.id + " is ok and failed its check: the file was damaged");
    }
    const std::size_t runs = result.repeats ? result.repeats->medians_s.size() : 1;
    if (runs != std::size_t(options.repeat)) {
      refuse(path, fmt::format("{} was measured with --repeat {}", result.id, runs));
    }
    if (has_warning(result, "W_NOT_VERIFIED") != options.no_verify) {
      refuse(path, result.id + (options.no_verify ? " was verified: leave out --no-verify"
                                                  : " was measured with --no-verify"));
    }
  }
}

/// What would be in no report any more.
void require_all_planned(const std::string& path, const std::vector<Result>& results,
                         std::span<const Case> planned) {
  std::vector<const Result*> lost;
  for (const Result& result : results) {
    if (!has_run(result)) continue;
    const bool goes_on = std::any_of(planned.begin(), planned.end(),
                                     [&](const Case& work) { return has_finished(result, work); });
    if (!goes_on) lost.push_back(&result);
  }
  if (lost.empty()) return;
  refuse(path,
         fmt::format("{} of its finished cases are not in this run, the first {} with seed {}: "
                     "repeat the command that it was begun with, and add --resume",
                     lost.size(), lost.front()->id, lost.front()->data_seed));
}

/// Journals may have any name, and so may reports.
bool is_journal(const std::string& path) {
  std::ifstream file(path);
  std::string begin(kLongestHeader, '\0');
  file.read(begin.data(), std::streamsize(begin.size()));
  begin.resize(std::size_t(file.gcount()));
  return is_journal_header(std::string_view(begin).substr(0, begin.find('\n')));
}

}  // namespace

Report load_report_or_journal(const std::string& path) {
  return is_journal(path) ? read_journal(path).report : read_report(path);
}

std::string resumed_out(const std::string& path) {
  if (!is_journal(path)) return path;
  // Of FILE.journal.old2, too.
  const std::string_view name =
      std::string_view(path).substr(0, path.find_last_not_of("0123456789") + 1);
  if (name.ends_with(kKept)) return path.substr(0, name.size() - kKept.size());
  return path.ends_with(kJournal) ? path.substr(0, path.size() - kJournal.size()) : path;
}

Resume::Resume(const std::string& path, const Report& header, std::span<const Case> planned,
               const RunOptions& options) {
  if (is_journal(path)) {
    JournalContents journal = read_journal(path);
    earlier_ = std::move(journal.report);
    if (journal.torn) {
      warnings_.push_back(path + " ends within a record: the case it was of is measured again");
    }
  } else {
    earlier_ = read_report(path);
  }
  if (earlier_.suite.sha256 != header.suite.sha256) {
    refuse(path, "it is of another suite (" +
                     (earlier_.suite.name.empty() ? "none" : earlier_.suite.name) + ")");
  }
  if (earlier_.suite.policy != header.suite.policy) {
    refuse(path, "it was measured with other times or another noise target");
  }
  for (const ReportDevice& device : earlier_.devices) {
    const auto same =
        std::find_if(header.devices.begin(), header.devices.end(),
                     [&](const ReportDevice& now) { return same_device(now.info, device.info); });
    if (same == header.devices.end()) {
      refuse(path, "it is of another device (" + device.info.name + " " + device.info.uuid + ")");
    }
    device_of_.push_back(int(same - header.devices.begin()));
  }
  require_all_planned(path, earlier_.results, planned);
  require_same_measuring(path, earlier_.results, options);
  if (earlier_.gpubench.binary_sha256 != header.gpubench.binary_sha256) {
    warnings_.emplace_back("the resumed results are of another build of gpubench");
  }
}

std::optional<Result> Resume::finished(const Case& work, int device) const {
  for (const Result& result : earlier_.results) {
    if (!has_finished(result, work) || device_of_[std::size_t(result.device)] != device) continue;
    Result taken = result;
    taken.device = device;
    return taken;
  }
  return std::nullopt;
}

}  // namespace gpubench
