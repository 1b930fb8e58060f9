// SPDX-License-Identifier: Apache-2.0
// Jobs of comm/all_reduce on the ranks of a world of threads, for tests.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "tests/ops_fixture.h"
#include "world/thread_world.h"

namespace gpubench {

/// What one rank owns. `adjust` changes its conditions before the job is made.
struct RankBench {
  using Adjust = std::function<void(int rank, Conditions&)>;

  RankBench(World& of, const std::map<std::string, std::string>& params, const Adjust& adjust,
            std::unique_ptr<Device> on = make_cpu_device())
      : world(of), bench(std::move(on)) {
    bench.device->activate();
    bench.conditions.cache = CacheMode::hot;
    if (adjust) adjust(world.rank(), bench.conditions);
    Context context = bench.context();
    context.world = &world;
    const WorkloadInfo& workload = find_workload("comm/all_reduce");
    job = workload.prepare(context, Params::resolve(workload.params, params));
  }

  World& world;
  TestBench bench;
  std::unique_ptr<Job> job;
};

/// Runs `body` on every rank of a world of `ranks`, with a cpu device each.
inline void for_ranks(int ranks, const std::map<std::string, std::string>& params,
                      const std::function<void(RankBench&)>& body,
                      const RankBench::Adjust& adjust = {}) {
  ThreadWorld world(ranks);
  run_ranks(world, [&](World& mine) {
    RankBench rank(mine, params, adjust);
    body(rank);
  });
}

}  // namespace gpubench
