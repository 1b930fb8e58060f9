// SPDX-License-Identifier: Apache-2.0
// A world whose ranks are threads of this process.
//   ThreadWorld world(4, stop);
//   run_ranks(world, [](World& mine) { ...; mine.barrier(); });
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

#include "gpubench/world.h"

namespace gpubench {

class ThreadWorld {
 public:
  static constexpr double kTimeout_s = 60;

  /// Who has waited `timeout_s` for the others fails the world, and names the missing ones.
  explicit ThreadWorld(int size, std::stop_token stop = {}, double timeout_s = kTimeout_s);
  ~ThreadWorld();
  ThreadWorld(const ThreadWorld&) = delete;
  ThreadWorld& operator=(const ThreadWorld&) = delete;

  int size() const { return static_cast<int>(ranks_.size()); }
  /// For one thread at a time; lives as long as the ThreadWorld.
  World& rank(int index);

 private:
  class Meeting;
  class Rank;
  std::unique_ptr<Meeting> meeting_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

/// Calls `body` once per rank, each in a thread of its own. What a rank throws fails the world, so
/// that the others end too; the first of it is thrown when all have ended.
void run_ranks(ThreadWorld& world, const std::function<void(World&)>& body);

}  // namespace gpubench
