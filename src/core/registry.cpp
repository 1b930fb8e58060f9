// SPDX-License-Identifier: Apache-2.0
// The only mutable state outside objects: workloads that registered themselves before main.
#include <algorithm>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "gpubench/error.h"
#include "gpubench/workload.h"
#include "util/text.h"

namespace gpubench {
namespace {

struct Registry {
  std::deque<WorkloadInfo> infos;  // addresses stay valid while it grows
  std::vector<const WorkloadInfo*> by_name;
};

/// Made on first use: registrations in other files may run before this file's own objects exist.
Registry& registry() {
  static Registry instance;
  return instance;
}

}  // namespace

Registration::Registration(WorkloadInfo info) {
  Registry& all = registry();
  const auto place = std::lower_bound(
      all.by_name.begin(), all.by_name.end(), info.name,
      [](const WorkloadInfo* other, const std::string& name) { return other->name < name; });
  if (place != all.by_name.end() && (*place)->name == info.name) {
    throw ConfigError("two workloads are named '" + info.name + "'");
  }
  all.by_name.insert(place, &all.infos.emplace_back(std::move(info)));
}

const std::vector<const WorkloadInfo*>& workloads() { return registry().by_name; }

const WorkloadInfo& find_workload(const std::string& name) {
  std::vector<std::string> names;
  for (const WorkloadInfo* workload : workloads()) {
    if (workload->name == name) return *workload;
    names.push_back(workload->name);
  }
  throw ConfigError("unknown workload '" + name + "'" + suggestion(name, names) +
                    " (`gpubench list` shows all)");
}

}  // namespace gpubench
