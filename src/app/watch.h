// SPDX-License-Identifier: Apache-2.0
// What ends a run or a case from outside, SIGINT, SIGTERM, SIGHUP and --timeout: as stop requests,
// without state shared with a signal handler.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include "app/exit_code.h"

namespace gpubench {

/// Blocks the signals in the calling thread (so, made first, in all threads of the program) and
/// waits for them in a thread of its own. The first requests a stop. After a second one, or where
/// the case under way has not ended `grace_s` after it was asked to (a library's call, a long
/// verification, a kernel that hangs), calls what a SaveOnLeaving holds and ends the process: exit
/// code 130 after a signal, 124 after a time limit. A SIGHUP that the parent ignores (nohup) stays
/// ignored.
class Watch {
 public:
  explicit Watch(double grace_s = 5);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// A signal came.
  bool interrupted() const { return run_.stop_requested(); }

  /// For the case that begins now: a stop is requested after `timeout_s`, or when a signal comes.
  std::stop_token begin_case(const std::optional<double>& timeout_s);
  void end_case();
  /// The case that began last reached its timeout.
  bool timed_out() const;

 private:
  friend class SaveOnLeaving;
  void loop(const std::stop_token& quit, double grace_s);
  void stop_case(double now_s);
  void leave(ExitCode code, const char* why);

  std::stop_source run_;
  double first_signal_s_ = 0;  // in the watch's thread
  mutable std::mutex mutex_;   // of all below
  std::stop_source case_;
  std::optional<double> deadline_s_;    // of the case under way
  std::optional<double> stopped_at_s_;  // when it was asked to end
  bool timed_out_ = false;
  std::function<void(ExitCode)> save_;
  std::jthread thread_;
};

/// While it lives, `save` is called before the process is left with work unfinished: in the watch's
/// thread, with the main thread still at work.
class SaveOnLeaving {
 public:
  SaveOnLeaving(Watch& watch, std::function<void(ExitCode)> save);
  ~SaveOnLeaving();
  SaveOnLeaving(const SaveOnLeaving&) = delete;
  SaveOnLeaving& operator=(const SaveOnLeaving&) = delete;

 private:
  Watch& watch_;
};

}  // namespace gpubench
