// SPDX-License-Identifier: Apache-2.0
#include "app/unfinished.h"

#include <algorithm>

#include "app/case_result.h"

namespace gpubench {

std::optional<std::size_t> add_unfinished(Report& report, std::span<const Case> cases,
                                          const Reason& reason) {
  const std::size_t finished = report.results.size();
  const auto has_result = [&](const Case& work, int device) {
    return std::any_of(report.results.begin(), report.results.end(), [&](const Result& result) {
      return result.device == device && result.id == work.id;
    });
  };
  for (int device = 0; device < int(report.devices.size()); ++device) {
    for (const Case& work : cases) {
      if (!has_result(work, device)) {
        report.results.push_back(unrun_result(work, device, "", reason));
      }
    }
  }
  return report.results.size() > finished ? std::optional(finished) : std::nullopt;
}

}  // namespace gpubench
