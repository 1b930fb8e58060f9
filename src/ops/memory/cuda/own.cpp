// SPDX-License-Identifier: Apache-2.0
#include "kernels/check/stream_reference.h"
#include "ops/memory/providers.h"

namespace gpubench {
namespace {

class OwnMemoryPlan : public Plan {
 public:
  explicit OwnMemoryPlan(const MemoryProblem& problem)
      : problem_(problem), algorithm_(describe_stream_variant(problem.kernel, problem.variant)) {}
  std::size_t workspace_bytes() const override { return 0; }
  std::string algorithm() const override { return algorithm_; }
  void run(Stream& stream, std::span<void* const> operands, void*) override {
    launch_stream(stream.native(), stream_arguments(problem_, operands));
  }

 private:
  MemoryProblem problem_;
  std::string algorithm_;
};

}  // namespace

Support own_memory_supports(const DeviceInfo& device, const MemoryProblem&) {
  if (device.kind != DeviceKind::cuda) {
    return Support::no("E_UNSUPPORTED_ARCH", "needs a CUDA device");
  }
  return Support::yes();
}

std::unique_ptr<Plan> own_memory_plan(Context&, const MemoryProblem& problem) {
  return std::make_unique<OwnMemoryPlan>(problem);
}

void cuda_memory_reference(Stream& stream, const StreamArguments& arguments) {
  launch_stream_reference(stream.native(), arguments);
}

}  // namespace gpubench
