// SPDX-License-Identifier: Apache-2.0
#include "app/run_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <utility>

#include "app/configs.h"
#include "app/say.h"
#include "app/session.h"
#include "gpubench/error.h"
#include "report/case_key.h"
#include "util/text.h"

namespace gpubench {
namespace {

Conditions conditions_of(const RunOptions& options) {
  Conditions conditions;
  conditions.data = parse_data_dist(options.data);
  conditions.cache = parse_cache_mode(options.cache);
  conditions.mode = parse_load_mode(options.mode);
  conditions.seed = options.seed;
  conditions.memory_reserve = options.memory_reserve_pct / 100;
  // Not a flag: planting faults is for testing the checks, and the report records the variable.
  if (const char* fault = std::getenv("GPUBENCH_FAULT")) conditions.fault = parse_fault(fault);
  return conditions;
}

void apply_overrides(const RunOptions& options, SamplingPolicy& policy) {
  if (options.min_time_s) policy.min_time_s = *options.min_time_s;
  if (options.max_time_s) policy.max_time_s = *options.max_time_s;
  if (options.warmup_s) policy.warmup_s = *options.warmup_s;
  if (options.sample_s) policy.sample_s = *options.sample_s;
  if (options.max_noise_pct) policy.max_noise = *options.max_noise_pct / 100;
  if (options.min_time_s && options.max_time_s && *options.max_time_s < *options.min_time_s) {
    throw ConfigError("--max-time is below --min-time");
  }
  // One of the two was given: it decides, the suite's other bound follows.
  if (options.max_time_s) policy.min_time_s = std::min(policy.min_time_s, policy.max_time_s);
  policy.max_time_s = std::max(policy.max_time_s, policy.min_time_s);
}

std::vector<std::string> parameters_of(const std::vector<Case>& cases) {
  std::vector<std::string> names;
  for (const Case& work : cases) {
    for (const ParamSpec& spec : work.workload->params) names.push_back(spec.name);
  }
  return names;
}

/// Brings together the cases that differ in `keys` only, each group where its first case was.
void group_pairs(const std::vector<std::string>& keys, RunPlan& plan) {
  std::vector<std::vector<Case>> groups;
  std::map<std::string, std::size_t> group_of;
  for (Case& work : plan.cases) {
    CaseKey key = parse_case_id(work.id);
    for (const std::string& name : keys) key.values.erase(name);
    const auto [found, is_new] = group_of.emplace(to_case_id(key), groups.size());
    if (is_new) groups.emplace_back();
    groups[found->second].push_back(std::move(work));
  }
  plan.cases.clear();
  for (std::vector<Case>& group : groups) {
    for (const Case& work : group) {
      const bool takes_turns =
          work.conditions.mode == LoadMode::sustained && !work.conditions.at_once;
      if (group.size() == 1 || takes_turns) continue;
      throw ConfigError(
          "--pair takes turns on one device under steady load: leave out mode=burst and at_once=1 "
          "(" +
          work.id + ")");
    }
    plan.groups.push_back(group.size());
    std::move(group.begin(), group.end(), std::back_inserter(plan.cases));
  }
  if (std::all_of(plan.groups.begin(), plan.groups.end(), [](std::size_t n) { return n == 1; })) {
    throw ConfigError("--pair " + join(keys, ",") + ": no two cases differ only in that");
  }
}

void plan_groups(const RunOptions& options, RunPlan& plan) {
  if (options.pair.empty()) {
    plan.groups.assign(plan.cases.size(), 1);
    return;
  }
  if (options.isolate || options.repeat > 1 || options.profile) {
    throw ConfigError(
        "--pair is for one process that measures: leave out --isolate, --repeat and --profile");
  }
  for (const std::string& key : options.pair) {
    require_parameter("--pair", key, parameters_of(plan.cases));
  }
  group_pairs(options.pair, plan);
}

void require_no_input_overwritten(const RunOptions& options) {
  const std::pair<const char*, const std::string&> inputs[] = {{"--suite", options.suite},
                                                               {"--catalogue", options.catalogue}};
  for (const auto& [option, input] : inputs) {
    std::error_code unlike;  // one of them does not exist
    if (input.empty() || !std::filesystem::equivalent(options.out, input, unlike)) continue;
    throw ConfigError("--out would overwrite the file of " + std::string(option) + ", " + input,
                      "E_OUTPUT");
  }
}

}  // namespace

RunPlan plan_run(const RunOptions& options, DeviceKind kind) {
  require_no_input_overwritten(options);
  if (options.suite.empty() && options.words.empty()) {
    throw ConfigError(
        "nothing to run: name a suite (--suite bert) or a workload (ops/gemm); see `gpubench "
        "list`");
  }
  if (options.profile && (options.isolate || options.repeat > 1)) {
    throw ConfigError("--profile is for one process: leave out --isolate and --repeat");
  }
  RunPlan plan;
  std::vector<CaseRequest> requests;
  if (!options.suite.empty()) {
    Suite suite = load_suite(options.suite, kind);
    plan.policy = suite.policy;
    plan.suite.name = suite.name;
    plan.suite.sha256 = suite.sha256;
    requests = std::move(suite.cases);
  }
  const std::vector<CaseRequest> named = parse_case_words(options.words);
  requests.insert(requests.end(), named.begin(), named.end());
  apply_overrides(options, plan.policy);
  plan.suite.policy = {{"warmup_s", plan.policy.warmup_s},
                       {"min_time_s", plan.policy.min_time_s},
                       {"max_time_s", plan.policy.max_time_s},
                       {"max_noise", plan.policy.max_noise},
                       {"min_samples", double(plan.policy.min_samples)},
                       {"max_samples", double(plan.policy.max_samples)},
                       {"sample_s", plan.policy.sample_s}};
  plan.cases = plan_cases(requests, conditions_of(options));
  if (plan.cases.empty()) {
    throw ConfigError("the suite '" + plan.suite.name + "' has no cases for this kind of device");
  }
  if (!options.filters.empty()) plan.cases = filter_cases(plan.cases, options.filters);
  plan_groups(options, plan);
  return plan;
}

std::uint64_t footprint_of(const Case& work, const DeviceInfo& info) {
  return work.workload->footprint ? work.workload->footprint(info, work.conditions, work.params)
                                  : 0;
}

bool runs_isolated(const RunOptions& options) { return options.isolate || options.repeat > 1; }

void require_at_once_possible(const RunPlan& plan, std::size_t devices, bool isolated) {
  for (const Case& work : plan.cases) {
    if (work.conditions.at_once && devices < 2) {
      throw ConfigError(work.id + ": at_once=1 needs several devices (--device all)");
    }
    if (work.conditions.at_once && isolated) {
      throw ConfigError("at_once=1 is for one process: leave out --isolate and --repeat");
    }
  }
}

namespace {

ExitCode dry_run(const RunPlan& plan, const DeviceInfo& info) {
  for (const Case& work : plan.cases) {
    fmt::print("{}  {}\n", work.id, format_gib(footprint_of(work, info)));
  }
  say(fmt::format("{} case{}; the second column is device memory on {}\n", plan.cases.size(),
                  plan.cases.size() == 1 ? "" : "s", info.name));
  return ExitCode::fine;
}

}  // namespace

ExitCode dry_run_anywhere(const RunOptions& options) {
  if (!options.resume.empty()) {
    throw ConfigError("--dry-run shows what a run would do from its start: leave out --resume");
  }
  const Catalogue catalogue = load_catalogue(options.catalogue);  // tells what is wrong with it
  if (wants_cpu(options.device)) {
    const RunPlan plan = plan_run(options, DeviceKind::cpu);
    require_at_once_possible(plan, 1, runs_isolated(options));
    return dry_run(plan, describe_cpu().info);
  }
  const RunPlan plan = plan_run(options, DeviceKind::cuda);
  DeviceInfo info;
  info.kind = DeviceKind::cuda;
  info.name = "an assumed GPU with 60 MiB of L2";
  info.l2_bytes = std::uint64_t{60} << 20;
  try {
    Libraries libraries;
    const auto chosen = choose_devices(options.device, libraries, catalogue);
    if (!chosen.empty()) info = chosen.front().info;
    require_at_once_possible(plan, chosen.size(), runs_isolated(options));
  } catch (const DeviceError&) {
    // no GPU here: keep the assumed one
  }
  return dry_run(plan, info);
}

}  // namespace gpubench
