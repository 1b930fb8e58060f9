// SPDX-License-Identifier: Apache-2.0
#include "app/at_once.h"

#include <cstddef>
#include <thread>

#include "measure/gathering.h"

namespace gpubench {

std::vector<Result> run_at_once(std::span<CaseRunner* const> runners, const Case& work,
                                const std::stop_token& stop) {
  Gathering gathering(runners.size());
  std::vector<Result> results(runners.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < runners.size(); ++i) {
      threads.emplace_back([&, i] { results[i] = runners[i]->run(work, stop, &gathering); });
    }
  }
  return results;
}

}  // namespace gpubench
