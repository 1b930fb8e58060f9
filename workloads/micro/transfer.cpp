// SPDX-License-Identifier: Apache-2.0
// micro/transfer: host memory to GPU and back, over PCIe.
#include "ops/transfer/transfer.h"

namespace gpubench {
namespace {

TransferProblem problem_of(const Params& params) {
  return {.direction = parse_direction(params.text("direction")),
          .memory = parse_host_memory(params.text("host")),
          .numa = parse_numa(params.text("numa")),
          .bytes = static_cast<std::uint64_t>(params.integer("bytes"))};
}

const Registration kTransfer{{
    .name = "micro/transfer",
    .summary = "Transfers between host memory and GPU: each direction and both at once",
    .params = {choice_param("direction", "h2d", {"h2d", "d2h", "both"},
                            "host to device, device to host, or both at the same time"),
               int_param("bytes", std::int64_t{256} << 20, "size of one transfer, each way"),
               choice_param("host", "pinned", {"pinned", "pageable", "zero_copy"},
                            "host memory; zero_copy: a kernel reads or writes pinned memory"),
               choice_param("numa", "near", {"near", "far", "any"},
                            "NUMA node of the host memory: the GPU's, the furthest, or whichever")},
    .footprint =
        [](const DeviceInfo& device, const Conditions& conditions, const Params& params) {
          return transfer_footprint(device, conditions, problem_of(params));
        },
    .prepare = [](Context& context,
                  const Params& params) { return make_transfer_job(context, problem_of(params)); },
}};

}  // namespace
}  // namespace gpubench
