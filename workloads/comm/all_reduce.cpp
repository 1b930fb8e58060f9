// SPDX-License-Identifier: Apache-2.0
// comm/all_reduce: every rank gives an array and has the sum of all afterwards.
#include "ops/all_reduce/job.h"

namespace gpubench {
namespace {

AllReduceProblem problem_of(const Params& params) {
  const ReduceType type = parse_reduce_type(params.text("dtype"));
  return {.type = type,
          .op = parse_reduce_op(params.text("op")),
          .count = all_reduce_count(params.integer("bytes"), type),
          .in_place = params.flag("inplace")};
}

const Registration kAllReduce{{
    .name = "comm/all_reduce",
    .summary = "All-reduce over the ranks of a run (one rank: a copy, no link is used)",
    .params = {int_param("bytes", std::int64_t{256} << 20, "size of one rank's array"),
               choice_param("dtype", "bf16", {"fp32", "bf16", "fp16", "fp8", "int32"},
                            "type of the elements; fp8 is E4M3"),
               choice_param("op", "sum", {"sum", "max", "avg"},
                            "what becomes of the ranks' values"),
               bool_param("inplace", false, "input and output are one array; needs several ranks"),
               choice_param("impl", "auto", {"auto", "nccl", "cpu"}, "provider")},
    .footprint =
        [](const DeviceInfo& device, const Conditions& conditions, const Params& params) {
          return all_reduce_footprint(device, conditions, problem_of(params));
        },
    .prepare =
        [](Context& context, const Params& params) {
          return make_all_reduce_job(context, problem_of(params), params.text("impl"));
        },
}};

}  // namespace
}  // namespace gpubench
