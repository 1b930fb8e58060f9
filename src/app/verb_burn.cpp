// SPDX-License-Identifier: Apache-2.0
// `gpubench burn`: one case on all devices at once, for minutes, its outputs compared bit by bit.
#include <algorithm>

#include "app/session.h"
#include "app/verbs.h"
#include "gpubench/error.h"

namespace gpubench {
namespace {

constexpr double kSecondsPerMinute = 60;
/// Samples of a tenth of a second: an hour of them is no burden.
constexpr double kSampleS = 0.1;

/// Large enough to hold a card at its power limit; some seconds on a CPU would be too long for one
/// iteration.
std::vector<std::string> default_work(bool cpu) {
  const std::string size = cpu ? "512" : "8192";
  return {"ops/gemm", "m=" + size, "n=" + size, "k=" + size};
}

bool is_workload(const std::string& word) { return word.find('=') == std::string::npos; }

}  // namespace

ExitCode burn_verb(const BurnOptions& burn) {
  RunOptions options = burn.run;
  const bool cpu = wants_cpu(options.device);
  if (options.device.empty()) options.device = "all";
  if (options.words.empty()) options.words = default_work(cpu);
  if (std::count_if(options.words.begin(), options.words.end(), is_workload) > 1) {
    throw ConfigError("burn holds one workload; name one");
  }
  options.words.emplace_back("burn=1");
  options.at_once_where_several = true;
  options.warmup_s = std::min(1.0, burn.minutes * kSecondsPerMinute);
  options.min_time_s = options.max_time_s = burn.minutes * kSecondsPerMinute;
  options.sample_s = kSampleS;
  options.tell_state = !options.quiet;
  return run_verb(options);
}

}  // namespace gpubench
