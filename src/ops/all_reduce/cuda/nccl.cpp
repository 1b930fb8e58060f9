// SPDX-License-Identifier: Apache-2.0
#include "libs/nvidia/nccl.h"

#include <fmt/format.h>

#include "gpubench/error.h"
#include "libs/libraries.h"
#include "ops/all_reduce/providers.h"

namespace gpubench {
namespace {

constexpr int kOldestWithFp8 = 22400;  // 2.24: ncclFloat8e4m3

NcclType nccl_type(ReduceType type) {
  switch (type) {
    case ReduceType::fp32:
      return NcclType::fp32;
    case ReduceType::bf16:
      return NcclType::bf16;
    case ReduceType::fp16:
      return NcclType::fp16;
    case ReduceType::fp8:
      return NcclType::fp8_e4m3;
    case ReduceType::int32:
      return NcclType::int32;
  }
  throw Error("E_INTERNAL", "unknown element type");
}

NcclOp nccl_op(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return NcclOp::sum;
    case ReduceOp::max:
      return NcclOp::max;
    case ReduceOp::avg:
      return NcclOp::avg;
  }
  throw Error("E_INTERNAL", "unknown reduction");
}

class NcclAllReduce : public Plan {
 public:
  NcclAllReduce(const NcclApi& api, World& world, const AllReduceProblem& problem)
      : comm_(api, world), problem_(problem), ranks_(world.size()) {}
  std::size_t workspace_bytes() const override { return 0; }
  /// NCCL chooses for each size and does not tell.
  std::string algorithm() const override {
    return ranks_ == 1 ? "1 rank: local copy" : fmt::format("{} ranks, NCCL's choice", ranks_);
  }
  void run(Stream& stream, std::span<void* const> operands, void*) override {
    comm_.all_reduce(operands.front(), operands.back(), static_cast<std::size_t>(problem_.count),
                     nccl_type(problem_.type), nccl_op(problem_.op), stream.native());
  }

 private:
  NcclComm comm_;
  AllReduceProblem problem_;
  int ranks_;
};

Support supports(const DeviceInfo& device, const AllReduceProblem& problem) {
  if (device.kind != DeviceKind::cuda) {
    return Support::no("E_UNSUPPORTED_DEVICE", "needs a CUDA device");
  }
  if (problem.type == ReduceType::fp8 && device.cc_major < 9) {
    return Support::no("E_UNSUPPORTED_ARCH", "NCCL reduces fp8 on sm_90 and newer only");
  }
  return Support::yes();
}

std::unique_ptr<Plan> make_plan(Context& context, const AllReduceProblem& problem) {
  const NcclApi& api = context.libraries.nccl();
  if (problem.type == ReduceType::fp8 && api.version_number() < kOldestWithFp8) {
    throw Unsupported(
        "E_UNSUPPORTED_DTYPE",
        fmt::format("NCCL {} ({}) has no fp8; 2.24 or newer has", api.version(), api.path()));
  }
  // Seen in 2.28: of one rank an average is a kernel of its own, which has no fp8 ("invalid
  // argument" at the call, too late to skip the case).
  if (problem.type == ReduceType::fp8 && problem.op == ReduceOp::avg &&
      context.world->size() == 1) {
    throw Unsupported("E_UNSUPPORTED_DTYPE",
                      fmt::format("NCCL {} ({}) has no fp8 average in a world of one rank",
                                  api.version(), api.path()));
  }
  return std::make_unique<NcclAllReduce>(api, *context.world, problem);
}

}  // namespace

Provider<AllReduceProblem> nccl_all_reduce_provider() { return {"nccl", supports, make_plan}; }

}  // namespace gpubench
