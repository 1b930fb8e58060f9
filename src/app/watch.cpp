// SPDX-License-Identifier: Apache-2.0
#include "app/watch.h"

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <string>
#include <utility>

#include "app/say.h"
#include "gpubench/telemetry.h"

namespace gpubench {
namespace {

/// timeout(1) and terminals signal the process and its group: twice, within microseconds.
constexpr double kOneSignalS = 0.2;

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  struct sigaction action {};
  if (sigaction(SIGHUP, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) {
    sigaddset(&set, SIGHUP);
  }
  return set;
}

}  // namespace

Watch::Watch(double grace_s) {
  const sigset_t set = stop_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  thread_ = std::jthread([this, grace_s](const std::stop_token& quit) { loop(quit, grace_s); });
}

Watch::~Watch() = default;

void Watch::loop(const std::stop_token& quit, double grace_s) {
  const sigset_t signals = stop_signals();
  while (!quit.stop_requested()) {
    const timespec wait{0, 50'000'000};
    const bool received = sigtimedwait(&signals, nullptr, &wait) > 0;
    const double now_s = steady_seconds();
    const std::lock_guard lock(mutex_);
    const bool again = received && interrupted();
    if (again && now_s - first_signal_s_ > kOneSignalS) {
      leave(ExitCode::interrupted, "a second signal, leaving at once");
    }
    if (received && !again) {
      first_signal_s_ = now_s;
      run_.request_stop();
      stop_case(now_s);
    }
    if (deadline_s_ && now_s > *deadline_s_ && !stopped_at_s_) {
      timed_out_ = true;
      stop_case(now_s);
    }
    if (stopped_at_s_ && now_s - *stopped_at_s_ > grace_s) {
      leave(interrupted() ? ExitCode::interrupted : ExitCode::time_limit,
            "the case under way does not end, leaving");
    }
  }
}

void Watch::stop_case(double now_s) {
  case_.request_stop();
  if (!stopped_at_s_) stopped_at_s_ = now_s;
}

void Watch::leave(ExitCode code, const char* why) {
  say(std::string("gpubench: ") + why + "\n");
  if (save_) save_(code);
  _exit(int(code));
}

std::stop_token Watch::begin_case(const std::optional<double>& timeout_s) {
  const std::lock_guard lock(mutex_);
  const double now_s = steady_seconds();
  case_ = std::stop_source();
  timed_out_ = false;
  stopped_at_s_.reset();
  deadline_s_ = timeout_s ? std::optional(now_s + *timeout_s) : std::nullopt;
  if (interrupted()) stop_case(now_s);
  return case_.get_token();
}

void Watch::end_case() {
  const std::lock_guard lock(mutex_);
  deadline_s_.reset();
  stopped_at_s_.reset();
}

bool Watch::timed_out() const {
  const std::lock_guard lock(mutex_);
  return timed_out_;
}

SaveOnLeaving::SaveOnLeaving(Watch& watch, std::function<void(ExitCode)> save) : watch_(watch) {
  const std::lock_guard lock(watch_.mutex_);
  watch_.save_ = std::move(save);
}

SaveOnLeaving::~SaveOnLeaving() {
  const std::lock_guard lock(watch_.mutex_);
  watch_.save_ = nullptr;
}

}  // namespace gpubench
