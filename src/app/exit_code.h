// SPDX-License-Identifier: Apache-2.0
// Exit codes are a public contract (docs/architecture.md). Where several hold, the first listed
// wins.
#pragma once

#include <initializer_list>

namespace gpubench {

enum class ExitCode : int {
  fine = 0,
  case_failed = 1,
  usage = 2,
  no_device = 3,
  wrong_result = 4,
  below_threshold = 5,
  nothing_comparable = 6,
  time_limit = 124,
  interrupted = 130,
};

/// The code to report when all of `held` apply.
inline ExitCode first_of(std::initializer_list<ExitCode> held) {
  for (const ExitCode code : {ExitCode::usage, ExitCode::no_device, ExitCode::interrupted,
                              ExitCode::time_limit, ExitCode::wrong_result, ExitCode::case_failed,
                              ExitCode::nothing_comparable, ExitCode::below_threshold}) {
    for (const ExitCode candidate : held) {
      if (candidate == code) return code;
    }
  }
  return ExitCode::fine;
}

}  // namespace gpubench
