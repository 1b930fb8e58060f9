// SPDX-License-Identifier: Apache-2.0
// Splits a range over the hardware threads: what the cpu device's own loops run on.
#pragma once

#include <cstddef>
#include <functional>

namespace gpubench {

/// Calls `body(begin, end)` for disjoint parts of [0, count), each of at least `grain` items, and
/// waits for all. An exception of a part is thrown again here.
void parallel_for(std::size_t count, std::size_t grain,
                  const std::function<void(std::size_t begin, std::size_t end)>& body);

}  // namespace gpubench
