// SPDX-License-Identifier: Apache-2.0
// SIGINT and SIGTERM as a stop request, without state shared with a signal handler.
#pragma once

#include <stop_token>
#include <thread>

namespace gpubench {

/// Blocks the two signals in the calling thread (so, made first, in all threads of the program) and
/// waits for them in a thread of its own. The first requests a stop; a second one, or work that has
/// not ended `grace_s` after the first, ends the process with exit code 130: finished cases are in
/// the journal.
class StopOnSignal {
 public:
  explicit StopOnSignal(double grace_s = 20);
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

  std::stop_token token() const { return source_.get_token(); }
  bool requested() const { return source_.stop_requested(); }

 private:
  std::stop_source source_;
  std::jthread thread_;
};

}  // namespace gpubench
