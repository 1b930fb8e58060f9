// SPDX-License-Identifier: Apache-2.0
#include "ops/l2/l2.h"

namespace gpubench {
namespace {

class OwnCachePlan : public Plan {
 public:
  explicit OwnCachePlan(const CacheProblem& problem) : problem_(problem) {}
  std::size_t workspace_bytes() const override { return 0; }
  std::string algorithm() const override {
    return "ld.global.cg, 4 KiB per warp" + std::string(problem_.copies ? ", st.global.cg" : "");
  }
  void run(Stream& stream, std::span<void* const> operands, void*) override {
    launch_cache(stream.native(), cache_arguments(problem_, operands));
  }

 private:
  CacheProblem problem_;
};

}  // namespace

Support own_cache_supports(const DeviceInfo& device, const CacheProblem&) {
  if (device.kind != DeviceKind::cuda) {
    return Support::no("E_UNSUPPORTED_ARCH", "needs a CUDA device");
  }
  return Support::yes();
}

std::unique_ptr<Plan> own_cache_plan(Context&, const CacheProblem& problem) {
  return std::make_unique<OwnCachePlan>(problem);
}

void cuda_cache_reference(Stream& stream, const CacheArguments& arguments) {
  launch_cache_reference(stream.native(), arguments);
}

}  // namespace gpubench
