// SPDX-License-Identifier: Apache-2.0
#include "ops/support/parallel.h"

#include <algorithm>
#include <exception>
#include <thread>
#include <vector>

namespace gpubench {

void parallel_for(std::size_t count, std::size_t grain,
                  const std::function<void(std::size_t, std::size_t)>& body) {
  if (count == 0) return;
  const std::size_t most = std::max<std::size_t>(1, std::thread::hardware_concurrency());
  const std::size_t parts =
      std::clamp<std::size_t>(count / std::max<std::size_t>(grain, 1), 1, most);
  if (parts == 1) return body(0, count);

  std::vector<std::exception_ptr> errors(parts);
  const auto run_part = [&](std::size_t part) {
    try {
      // Parts differ by one item at most; no product that could wrap around.
      const std::size_t size = count / parts, rest = count % parts;
      const std::size_t begin = part * size + std::min(part, rest);
      body(begin, begin + size + (part < rest ? 1 : 0));
    } catch (...) {
      errors[part] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    threads.reserve(parts - 1);
    for (std::size_t part = 1; part < parts; ++part) threads.emplace_back(run_part, part);
    run_part(0);
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace gpubench
