// SPDX-License-Identifier: Apache-2.0
#include "app/case_result.h"

#include <utility>

namespace gpubench {
namespace {

/// The command that measures the case again, with every condition that is not the default.
std::string reproduce_command(const Case& work, const std::string& device) {
  std::string command = "gpubench run " + work.workload->name;
  for (const ParamSpec& spec : work.workload->params) {
    const std::string& value = work.params.text(spec.name);
    if (value != spec.default_value) command += " " + spec.name + "=" + value;
  }
  const Conditions defaults;
  const Conditions& conditions = work.conditions;
  if (conditions.at_once) command += " at_once=1";
  if (conditions.burn) command += " burn=1";
  command += " --device " + (conditions.at_once ? std::string("all") : device);
  if (conditions.data != defaults.data)
    command += " --data " + std::string(to_string(conditions.data));
  if (conditions.seed != defaults.seed) command += " --seed " + std::to_string(conditions.seed);
  if (conditions.cache != defaults.cache)
    command += " --cache " + std::string(to_string(conditions.cache));
  if (conditions.mode != defaults.mode)
    command += " --mode " + std::string(to_string(conditions.mode));
  return command;
}

}  // namespace

std::string device_word(const DeviceInfo& info) {
  return info.kind == DeviceKind::cpu ? "cpu" : std::to_string(info.index);
}

Result unrun_result(const Case& work, int device_index, const std::string& reproduce_device,
                    Reason reason) {
  Result result;
  result.id = work.id;
  result.workload = work.workload->name;
  result.params = work.params.values();
  result.device = device_index;
  result.status = Status::not_run;
  result.reason = std::move(reason);
  result.cache = to_string(work.conditions.cache);
  result.data_dist = to_string(work.conditions.data);
  result.data_seed = work.conditions.seed;
  result.mode = to_string(work.conditions.mode);
  result.reproduce = reproduce_command(work, reproduce_device);
  return result;
}

}  // namespace gpubench
