// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "app/configs.h"
#include "app/verbs.h"
#include "gpubench/error.h"
#include "util/text.h"

namespace gpubench {
namespace {

std::string bounds(const ParamSpec& spec) {
  std::string text = fmt::format("integer, at least {}", spec.min);
  if (spec.max < int_param("", 1, "").max) text += fmt::format(", at most {}", spec.max);
  return text;
}

void show_workload(const WorkloadInfo& workload) {
  fmt::print("{}: {}\n\nparameters\n", workload.name, workload.summary);
  for (const ParamSpec& spec : workload.params) {
    std::string values = spec.type == ParamType::integer   ? bounds(spec)
                         : spec.type == ParamType::boolean ? "0|1"
                                                           : join(spec.choices, "|");
    if (values.empty()) values = "text";
    fmt::print("  {:<12} {}\n  {:<12} {}; default {}\n", spec.name, spec.help, "", values,
               spec.default_value);
  }
  fmt::print(
      "\nSizes take K, M, G (binary). Measuring conditions work as parameters too: cache=hot, "
      "data=zeros, mode=burst, at_once=1, burn=1.\n");
}

void show_suite(const std::string& name) {
  const Suite suite = load_suite(name, DeviceKind::cuda);
  const std::vector<Case> cases = plan_cases(suite.cases, Conditions{});
  const std::vector<Case> cpu_cases =
      plan_cases(load_suite(name, DeviceKind::cpu).cases, Conditions{});
  fmt::print("suite {}: {}\n\n", suite.name, suite.summary);
  fmt::print("policy: warm-up at most {} s, sampling {} to {} s, target noise {} %\n\n",
             suite.policy.warmup_s, suite.policy.min_time_s, suite.policy.max_time_s,
             100 * suite.policy.max_noise);
  for (const Case& work : cases) fmt::print("  {}\n", work.id);
  fmt::print("\n{} cases on a GPU, {} on the cpu device\n", cases.size(), cpu_cases.size());
}

}  // namespace

ExitCode list_verb() {
  fmt::print("workloads\n");
  for (const WorkloadInfo* workload : workloads())
    fmt::print("  {:<18} {}\n", workload->name, workload->summary);
  fmt::print("\nsuites\n");
  for (const std::string& name : suite_names()) {
    fmt::print("  {:<18} {}\n", name, load_suite(name, DeviceKind::cuda).summary);
  }
  fmt::print(
      "\n`gpubench show NAME` tells the parameters of a workload or the cases of a suite.\n");
  return ExitCode::fine;
}

ExitCode show_verb(const std::string& name) {
  for (const WorkloadInfo* workload : workloads()) {
    if (workload->name == name) {
      show_workload(*workload);
      return ExitCode::fine;
    }
  }
  const std::vector<std::string> suites = suite_names();
  const bool is_file = name.ends_with(".json");
  if (is_file || std::find(suites.begin(), suites.end(), name) != suites.end()) {
    show_suite(name);
    return ExitCode::fine;
  }
  std::vector<std::string> known = suites;
  for (const WorkloadInfo* workload : workloads()) known.push_back(workload->name);
  const std::string near = nearest(name, known);
  throw ConfigError("no workload or suite is named '" + name + "'" +
                    (near.empty() ? "; see `gpubench list`" : "; did you mean '" + near + "'?"));
}

}  // namespace gpubench
