// SPDX-License-Identifier: Apache-2.0
// SIGINT, SIGTERM and SIGHUP as a stop request, without state shared with a signal handler.
#pragma once

#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

namespace gpubench {

/// Blocks the signals in the calling thread (so, made first, in all threads of the program) and
/// waits for them in a thread of its own. The first requests a stop; a second one, or work that has
/// not ended `grace_s` after the first (a library's call, a long verification), calls what a
/// SaveOnLeaving holds and ends the process with exit code 130. A SIGHUP that the parent ignores
/// (nohup) stays ignored.
class StopOnSignal {
 public:
  explicit StopOnSignal(double grace_s = 5);
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

  std::stop_token token() const { return source_.get_token(); }
  bool requested() const { return source_.stop_requested(); }

 private:
  friend class SaveOnLeaving;
  void leave();

  std::mutex mutex_;
  std::function<void()> save_;
  std::stop_source source_;
  std::jthread thread_;
};

/// While it lives, `save` is called before the process is left with work unfinished: in the
/// signals' thread, with the main thread still at work.
class SaveOnLeaving {
 public:
  SaveOnLeaving(StopOnSignal& signals, std::function<void()> save);
  ~SaveOnLeaving();
  SaveOnLeaving(const SaveOnLeaving&) = delete;
  SaveOnLeaving& operator=(const SaveOnLeaving&) = delete;

 private:
  StopOnSignal& signals_;
};

}  // namespace gpubench
