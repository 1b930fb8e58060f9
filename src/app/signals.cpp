// SPDX-License-Identifier: Apache-2.0
#include "app/signals.h"

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <utility>

#include "app/exit_code.h"
#include "app/say.h"
#include "gpubench/telemetry.h"

namespace gpubench {
namespace {

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

StopOnSignal::StopOnSignal(double grace_s) {
  const sigset_t set = stop_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  thread_ = std::jthread([this, grace_s](const std::stop_token& quit) {
    const sigset_t signals = stop_signals();
    double first_at = 0;
    while (!quit.stop_requested()) {
      const timespec wait{0, 100'000'000};
      const bool received = sigtimedwait(&signals, nullptr, &wait) > 0;
      const bool overdue = first_at > 0 && steady_seconds() - first_at > grace_s;
      if ((received && first_at > 0) || overdue) leave();
      if (received) {
        first_at = steady_seconds();
        source_.request_stop();
      }
    }
  });
}

StopOnSignal::~StopOnSignal() = default;

void StopOnSignal::leave() {
  const std::lock_guard lock(mutex_);
  say("gpubench: still busy after the signal, leaving\n");
  if (save_) save_();
  _exit(int(ExitCode::interrupted));
}

SaveOnLeaving::SaveOnLeaving(StopOnSignal& signals, std::function<void()> save)
    : signals_(signals) {
  const std::lock_guard lock(signals_.mutex_);
  signals_.save_ = std::move(save);
}

SaveOnLeaving::~SaveOnLeaving() {
  const std::lock_guard lock(signals_.mutex_);
  signals_.save_ = nullptr;
}

}  // namespace gpubench
