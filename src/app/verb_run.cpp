// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include "analysis/measured_roof.h"
#include "analysis/repeat.h"
#include "analysis/standing.h"
#include "app/at_once.h"
#include "app/case_runner.h"
#include "app/configs.h"
#include "app/device_bench.h"
#include "app/host.h"
#include "app/isolated.h"
#include "app/libraries_used.h"
#include "app/report_file.h"
#include "app/resume.h"
#include "app/run_plan.h"
#include "app/say.h"
#include "app/session.h"
#include "app/unfinished.h"
#include "app/verbs.h"
#include "app/watch.h"
#include "device/select.h"
#include "gpubench/error.h"
#include "gpubench/telemetry.h"
#include "report/table.h"
#include "util/text.h"

namespace gpubench {
namespace {

class Run {
 public:
  Run(const RunOptions& options, RunPlan plan, std::vector<ReportDevice> devices,
      Libraries& libraries, Watch& watch)
      : options_(options),
        plan_(std::move(plan)),
        libraries_(libraries),
        watch_(watch),
        progress_(options.quiet, plan_.cases.size() * devices.size()),
        begin_s_(steady_seconds()) {
    report_.created = utc_now();
    report_.command = options.command;
    report_.gpubench = build_info();
    report_.host = host_info();
    report_.environment = recorded_environment();
    report_.suite = plan_.suite;
    report_.devices = std::move(devices);
    benches_.resize(report_.devices.size());
    require_at_once_possible(plan_, report_.devices.size(), isolated());
    if (!options.resume.empty()) {
      resume_.emplace(options.resume, report_, plan_.cases, options);
      report_.created = resume_->earlier().created;
      libraries_used_ = resume_->earlier().libraries;
    }
  }

  ExitCode execute() {
    for (const ReportDevice& device : report_.devices) {
      for (const Case& work : plan_.cases) footprint_of(work, device.info);
    }
    ReportFile file(out(), plan_.suite.name, report_);
    if (resume_) {
      for (const std::string& warning : resume_->warnings()) progress_.warn(warning);
      std::error_code unlike;  // no journal
      if (std::filesystem::equivalent(options_.resume, file.journal_path(), unlike))
        file.take_over_kept_journal();
    } else if (!file.kept_journal().empty()) {
      progress_.warn("an earlier run did not end; its finished cases are now in " +
                     file.kept_journal() + " (--resume takes them up)");
    }
    {
      const SaveOnLeaving saving(watch_,
                                 [this, &file](ExitCode code) { save_unfinished(file, code); });
      for (std::size_t index = 0; index < report_.devices.size(); ++index)
        run_device(int(index), file);
      for (const Case& work : plan_.cases) {
        if (work.conditions.at_once) add(results_at_once(work), file);
      }
    }
    finish();
    try {
      file.save(report_);
    } catch (const Error&) {
      print_table(file, /*saved=*/false);
      throw;
    }
    print_table(file, /*saved=*/true);
    if (hung()) {
      // Every destructor that frees device memory would wait for the hung kernel.
      std::fflush(nullptr);
      _exit(int(exit_code()));
    }
    return exit_code();
  }

 private:
  bool isolated() const { return runs_isolated(options_); }

  std::string out() const {
    return resume_ && options_.out.empty() ? resumed_out(options_.resume) : options_.out;
  }

  CaseRunner& runner_of(int index) {
    std::unique_ptr<DeviceBench>& bench = benches_[std::size_t(index)];
    if (!bench) {
      bench = std::make_unique<DeviceBench>(
          report_.devices[std::size_t(index)], index, libraries_,
          BenchOptions{plan_.policy, !options_.no_verify, options_.profile, options_.tell_state},
          report_.environment, progress_);
    }
    return bench->runner();
  }

  void run_device(int index, ReportFile& file) {
    // An isolated case opens the device itself.
    CaseRunner* runner = isolated() ? nullptr : &runner_of(index);
    std::span<const Case> rest(plan_.cases);
    for (const std::size_t size : plan_.groups) {
      const std::span<const Case> group = rest.first(size);
      rest = rest.subspan(size);
      if (group.front().conditions.at_once) continue;
      GroupResults measured;
      if (size == 1) {
        measured.results.push_back(result_of(group.front(), index, runner));
      } else {
        measured = results_in_turn(group, index, *runner);
      }
      add(std::move(measured), file);
    }
  }

  void add(GroupResults measured, ReportFile& file) {
    if (!isolated()) take_libraries(loaded_libraries(libraries_));
    const std::lock_guard lock(results_mutex_);
    for (Result& result : measured.results) {
      if (result.status != Status::ok && result.status != Status::skipped) failed_ = true;
      if (result.status != Status::not_run) keep(file, result);  // a line is a write to the disk
      report_.results.push_back(std::move(result));
    }
    for (Comparison& pair : measured.comparisons) report_.comparisons.push_back(std::move(pair));
    report_.libraries = libraries_used_;
  }

  /// The case on all devices at the same time.
  GroupResults results_at_once(const Case& work) {
    GroupResults measured;
    std::vector<CaseRunner*> runners;
    for (std::size_t i = 0; i < report_.devices.size(); ++i) runners.push_back(&runner_of(int(i)));
    for (CaseRunner* runner : runners) {
      const Reason blocked = why_not(runner);
      if (blocked.code.empty()) continue;
      for (std::size_t i = 0; i < runners.size(); ++i) {
        measured.results.push_back(unrun_result(work, int(i), "", blocked));
      }
      return measured;
    }
    progress_.begin(work.id);
    for (std::size_t i = 1; i < runners.size(); ++i) progress_.join();
    measured.results = run_at_once(runners, work, watch_.begin_case(options_.timeout_s));
    watch_.end_case();
    for (Result& result : measured.results) {
      if (result.status == Status::not_run && watch_.timed_out()) set_timeout(result);
      progress_.end(result);
    }
    return measured;
  }

  /// A journal does not hold comparisons, so that such a group is always measured again.
  GroupResults results_in_turn(std::span<const Case> cases, int index, CaseRunner& runner) {
    GroupResults paired;
    const Reason blocked = why_not(&runner);
    if (!blocked.code.empty()) {
      for (const Case& work : cases)
        paired.results.push_back(unrun_result(work, index, "", blocked));
      return paired;
    }
    progress_.begin(cases.front().id);
    for (std::size_t i = 1; i < cases.size(); ++i) progress_.join();
    auto timeout_s = options_.timeout_s;
    if (timeout_s) *timeout_s *= double(cases.size());
    paired = runner.run_in_turn(cases, watch_.begin_case(timeout_s));
    watch_.end_case();
    for (Result& result : paired.results) {
      if (result.status == Status::not_run && watch_.timed_out()) set_timeout(result);
      progress_.end(result);
    }
    return paired;
  }

  Result result_of(const Case& work, int index, CaseRunner* runner) {
    if (resume_) {
      if (auto finished = resume_->finished(work, index)) {
        progress_.leave_out();
        return std::move(*finished);
      }
    }
    Reason blocked = why_not(runner);
    if (!blocked.code.empty()) return unrun_result(work, index, "", std::move(blocked));
    progress_.begin(work.id);
    std::vector<Result> runs;
    for (int i = 0; i == 0 || (i < options_.repeat && !watch_.interrupted()); ++i) {
      const std::stop_token stop = watch_.begin_case(options_.timeout_s);
      runs.push_back(runner != nullptr ? runner->run(work, stop) : run_alone(work, index, i, stop));
      watch_.end_case();
      Result& result = runs.back();
      if (result.status == Status::not_run && watch_.timed_out()) set_timeout(result);
      if (result.status != Status::ok) break;
    }
    Result result = combine_runs(std::move(runs));
    progress_.end(result);
    return result;
  }

  /// In a process of its own.
  Result run_alone(const Case& work, int index, int number, const std::stop_token& stop) {
    progress_.phase(options_.repeat > 1 ? fmt::format("run {} of {}", number + 1, options_.repeat)
                                        : std::string("in a process of its own"));
    try {
      IsolatedResult isolated = run_isolated(work, report_.devices[std::size_t(index)], index,
                                             plan_.policy, options_, stop);
      take_libraries(isolated.libraries);
      return std::move(isolated.result);
    } catch (const std::exception& error) {  // no folder, no process, no disk
      Result result = unrun_result(work, index, "", {"E_ISOLATE", error.what()});
      result.status = Status::failed;
      return result;
    }
  }

  void set_timeout(Result& result) const {
    result.status = Status::timeout;
    result.reason = {"E_TIMEOUT",
                     fmt::format("took longer than --timeout {} s", *options_.timeout_s)};
  }

  /// The report of a run whose current case does not return; called in the watch's thread while the
  /// main thread is in run_device().
  void save_unfinished(ReportFile& file, ExitCode code) {
    const std::unique_lock lock(results_mutex_, std::chrono::seconds(2));
    if (!lock) return say("gpubench: finished cases are in the journal\n");
    const bool timed_out = code == ExitCode::time_limit;
    const Reason reason =
        timed_out ? Reason{"E_STUCK",
                           "an earlier case reached --timeout and did not return, which ended the "
                           "run; with --isolate only that case ends"}
                  : Reason{"E_INTERRUPTED", "the run was interrupted before this case ended"};
    const std::optional<std::size_t> under_way = add_unfinished(report_, plan_.cases, reason);
    if (under_way && timed_out) set_timeout(report_.results[*under_way]);
    finish();
    bool saved = false;
    try {
      file.save(report_);
      saved = true;
    } catch (const Error& error) {
      say(printable_lines(fmt::format("gpubench: {}\n", error.what())));
    }
    // After a second signal the table could wait for a reader that takes no more.
    if (timed_out) {
      print_table(file, saved);
    } else if (saved && !file.is_stdout()) {
      say(printable_lines("report: " + file.path() + "\n"));
    }
  }

  bool cases_are_left() const {
    return std::any_of(report_.results.begin(), report_.results.end(), [](const Result& result) {
      return result.status == Status::not_run && result.reason.code != "E_PROFILED";
    });
  }

  bool hung() const {
    return std::any_of(benches_.begin(), benches_.end(),
                       [](const auto& bench) { return bench && bench->runner().hung(); });
  }

  /// A full disk must not end the run: what follows is then only in the report.
  void keep(ReportFile& file, const Result& result) {
    try {
      file.append(result);
    } catch (const Error& error) {
      file.give_up_journal();
      progress_.warn(std::string(error.what()) + "; going on without a journal");
    }
  }

  /// Why no further case can start; an empty code if one can.
  Reason why_not(const CaseRunner* runner) {
    if (watch_.interrupted()) return {"E_INTERRUPTED", "the run was interrupted before this case"};
    if (options_.time_limit_s && steady_seconds() - begin_s_ > *options_.time_limit_s) {
      out_of_time_ = true;
      return {"E_TIME_LIMIT",
              fmt::format("the run's limit of {} s was over", *options_.time_limit_s)};
    }
    if (runner != nullptr && !runner->lost().code.empty()) return runner->lost();
    if (options_.fail_fast && failed_)
      return {"E_FAIL_FAST", "an earlier case failed (--fail-fast)"};
    return {};
  }

  void take_libraries(const decltype(Report::libraries)& loaded) {
    for (const std::string& warning : add_libraries(libraries_used_, loaded))
      progress_.warn(warning);
  }

  void finish() {
    fill_measured_roofs(report_.results);
    remark_slow_devices(report_);
    const Summary summary = count_results(report_.results, steady_seconds() - begin_s_);
    report_.summary = summary;
    report_.complete = !watch_.interrupted() && !out_of_time_ && !cases_are_left();
  }

  void print_table(const ReportFile& file, bool saved) const {
    std::FILE* to = file.is_stdout() ? stderr : stdout;
    TableOptions table;
    table.width = output_width(fileno(to));
    table.colour = isatty(fileno(to)) != 0 && std::getenv("NO_COLOR") == nullptr;
    fmt::print(to, "{}", result_table(report_, table));
    for (const std::string& sentence : standing_sentences(report_)) {
      fmt::print(to, "{}\n", printable(sentence));
    }
    if (saved && !file.is_stdout()) fmt::print(to, "report: {}\n", printable(file.path()));
    std::fflush(to);
  }

  ExitCode exit_code() const {
    const Summary& summary = *report_.summary;
    const auto when = [](bool held, ExitCode code) { return held ? code : ExitCode::fine; };
    return first_of({when(watch_.interrupted(), ExitCode::interrupted),
                     when(out_of_time_ || hung(), ExitCode::time_limit),
                     when(summary.wrong > 0, ExitCode::wrong_result),
                     when(summary.failed + summary.timeout > 0, ExitCode::case_failed),
                     when(options_.fail_on_skip && summary.skipped > 0, ExitCode::case_failed)});
  }

  const RunOptions& options_;
  RunPlan plan_;
  Libraries& libraries_;
  Watch& watch_;
  std::optional<Resume> resume_;
  Progress progress_;
  double begin_s_;
  Report report_;
  bool failed_ = false;
  bool out_of_time_ = false;
  decltype(Report::libraries) libraries_used_;
  std::timed_mutex results_mutex_;                     // report_ and the journal, while cases run
  std::vector<std::unique_ptr<DeviceBench>> benches_;  // of each device, once it is opened
};

}  // namespace

ExitCode run_verb(const RunOptions& options) {
  if (!options.device.empty() && !wants_cpu(options.device)) check_device_list(options.device);
  if (options.dry_run) return dry_run_anywhere(options);
  // What was typed is checked before the machine is looked at.
  RunPlan plan = plan_run(options, wants_cpu(options.device) ? DeviceKind::cpu : DeviceKind::cuda);
  Watch watch;  // before any library starts threads, so that they inherit the blocked signals
  Libraries libraries;
  std::vector<ReportDevice> devices =
      choose_devices(options.device, libraries, load_catalogue(options.catalogue));
  if (options.at_once_where_several && devices.size() > 1) {
    RunOptions together = options;
    together.words.emplace_back("at_once=1");
    plan = plan_run(together, DeviceKind::cuda);
  }
  return Run(options, std::move(plan), std::move(devices), libraries, watch).execute();
}

}  // namespace gpubench
