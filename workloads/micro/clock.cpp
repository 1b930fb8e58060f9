// SPDX-License-Identifier: Apache-2.0
// micro/clock: the SM clock, and what an SM does in each of its cycles.
#include "ops/clock/clock.h"

namespace gpubench {
namespace {

ClockProblem problem_of(const DeviceInfo& device, const Params& params) {
  return clock_problem(device, params.text("kernel") == "mma", params.integer("ms"));
}

const Registration kClock{{
    .name = "micro/clock",
    .summary = "SM clock by the device's own counters, and FLOP per clock and SM",
    .params = {choice_param("kernel", "fma", {"fma", "mma"},
                            "FP32 multiply-adds, or BF16 tensor products by mma.sync"),
               int_param("ms", 20, "about how long one kernel runs, at least", 1, 25)},
    .footprint =
        [](const DeviceInfo& device, const Conditions& conditions, const Params& params) {
          return clock_footprint(device, conditions, problem_of(device, params));
        },
    .prepare =
        [](Context& context, const Params& params) {
          return make_clock_job(context, problem_of(context.device.info(), params));
        },
}};

}  // namespace
}  // namespace gpubench
