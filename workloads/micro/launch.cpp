// SPDX-License-Identifier: Apache-2.0
// micro/launch: what it costs to start a kernel that does nothing.
#include "ops/launch/launch.h"

namespace gpubench {
namespace {

LaunchProblem problem_of(const Params& params) {
  return {.mode = params.text("via") == "graph" ? LaunchMode::graph : LaunchMode::stream,
          .measure = parse_launch_measure(params.text("measure")),
          .kernels = params.integer("kernels"),
          .argument_bytes = std::stoi(params.text("args"))};
}

const Registration kLaunch{{
    .name = "micro/launch",
    .summary = "Cost of launching an empty kernel, one by one or as a graph",
    .params = {choice_param("via", "stream", {"stream", "graph"},
                            "one call per kernel, or one call for a graph of all"),
               choice_param("measure", "throughput", {"throughput", "enqueue", "latency"},
                            "the device's time from one to the next in a long series; the host's "
                            "time in the calls alone; the time from the call until the host sees "
                            "the work done"),
               int_param("kernels", 1, "kernels of one iteration, one after the other", 1, 4096),
               choice_param("args", "8", {"8", "256", "1024", "4096"},
                            "bytes of arguments of each kernel")},
    .footprint = [](const DeviceInfo&, const Conditions&,
                    const Params&) { return std::uint64_t{sizeof(LaunchTally)}; },
    .prepare = [](Context& context,
                  const Params& params) { return make_launch_job(context, problem_of(params)); },
}};

}  // namespace
}  // namespace gpubench
