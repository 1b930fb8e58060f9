// SPDX-License-Identifier: Apache-2.0
// micro/l2: bandwidth of the L2 cache; on the cpu device of the last-level cache.
#include "ops/l2/l2.h"

namespace gpubench {
namespace {

CacheProblem problem_of(const DeviceInfo& device, const Params& params) {
  return cache_problem(device, params.text("kernel"),
                       static_cast<std::uint64_t>(params.integer("bytes")),
                       static_cast<std::uint64_t>(params.integer("passes")));
}

const Registration kL2{{
    .name = "micro/l2",
    .summary = "L2 cache bandwidth: passes over a working set that stays there",
    .params = {choice_param("kernel", "read", {"read", "copy"},
                            "read the working set, or copy one half of it to the other"),
               int_param("bytes", 0, "working set; 0: a quarter of the device's L2", 0,
                         std::int64_t{1} << 36),
               int_param("passes", 0,
                         "over the working set in one iteration; 0: 256, on the cpu device one for "
                         "each hardware thread",
                         0, 1 << 20),
               choice_param("impl", "auto", {"auto", "own", "cpu"}, "provider")},
    .footprint =
        [](const DeviceInfo& device, const Conditions& conditions, const Params& params) {
          return cache_footprint(device, conditions, problem_of(device, params));
        },
    .prepare =
        [](Context& context, const Params& params) {
          return make_cache_job(context, problem_of(context.device.info(), params),
                                params.text("impl"));
        },
}};

}  // namespace
}  // namespace gpubench
