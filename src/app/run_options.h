// SPDX-License-Identifier: Apache-2.0
// What `gpubench run` was asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gpubench {

struct RunOptions {
  std::vector<std::string> words;  ///< WORKLOAD key=value...
  std::string suite;
  std::string device;  ///< empty: GPU 0
  std::vector<std::string> filters;
  std::string resume;     ///< a journal or an unfinished report
  std::string catalogue;  ///< a file of own device entries
  std::string out;        ///< empty: a new file in the current folder; "-": stdout
  std::optional<double> min_time_s, max_time_s, warmup_s, time_limit_s, timeout_s;
  std::optional<double> max_noise_pct;
  std::string data = "normal";
  std::string cache = "cold";
  std::string mode = "sustained";
  std::uint64_t seed = 1;
  double memory_reserve_pct = 10;
  std::vector<std::string> pair;  ///< sample cases in turn that differ in these only
  int repeat = 1;  ///< runs of each case; more than one: each in a process of its own
  bool no_verify = false;
  bool dry_run = false;
  bool fail_fast = false;
  bool fail_on_skip = false;
  bool isolate = false;
  bool profile = false;
  bool quiet = false;
  bool tell_state = false;  ///< of each device, while it is under load (burn)
  bool at_once_where_several =
      false;  ///< at_once=1 for the last workload where devices are several
  std::optional<double> sample_s;
  std::vector<std::string> command;  ///< argv, for the report
};

}  // namespace gpubench
