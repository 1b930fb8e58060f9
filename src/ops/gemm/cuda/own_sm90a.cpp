// SPDX-License-Identifier: Apache-2.0
// GEMM by our own wgmma kernels, for Hopper.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "kernels/gemm/gemm_sm90a.h"
#include "ops/gemm/cuda/own_arguments.h"
#include "ops/gemm/providers.h"
#include "ops/support/tune.h"

namespace gpubench {
namespace {

/// The estimate that orders them leaves nothing good behind these.
constexpr std::size_t kCandidates = 32;

class OwnSm90aPlan : public Plan {
 public:
  OwnSm90aPlan(Context& context, const GemmProblem& problem)
      : epilogue_(problem.epilogue),
        arguments_(own_gemm_arguments(problem)),
        configs_(sm90a_configs(arguments_)) {
    if (problem.tune) tune(context, problem);
  }

  std::size_t workspace_bytes() const override { return configs_[chosen_].workspace_bytes; }
  std::string algorithm() const override {
    const std::string& name = configs_[chosen_].name;
    return candidates_ > 0 ? fmt::format("{}, tuned of {}", name, candidates_) : name;
  }
  void run(Stream& stream, std::span<void* const> operands, void* workspace) override {
    launch(stream, operands, workspace, configs_[chosen_]);
  }

 private:
  void tune(Context& context, const GemmProblem& problem) {
    candidates_ = std::min(configs_.size(), kCandidates);
    std::size_t workspace_bytes = 1;
    for (std::size_t i = 0; i < candidates_; ++i) {
      workspace_bytes = std::max(workspace_bytes, configs_[i].workspace_bytes);
    }
    const OperandSets sets(context, gemm_operands(problem));
    const Buffer workspace(context.device, workspace_bytes);
    std::vector<Candidate> timed;
    for (std::size_t i = 0; i < candidates_; ++i) {
      timed.emplace_back([&, i](Stream& stream, std::size_t iteration) {
        launch(stream, sets.set(iteration % sets.sets()), workspace.data(), configs_[i]);
      });
    }
    chosen_ = fastest(context, timed);
  }

  void launch(Stream& stream, std::span<void* const> operands, void* workspace,
              const GemmConfig& config) const {
    const GemmPointers pointers = gemm_pointers(epilogue_, operands);
    launch_gemm_sm90a(stream.native(), with_operands(arguments_, pointers, workspace), config);
  }

  Epilogue epilogue_;
  GemmArguments arguments_;
  std::vector<GemmConfig> configs_;
  std::size_t chosen_ = 0;
  std::size_t candidates_ = 0;  // 0: not tuned
};

}  // namespace

Support own_sm90a_gemm_supports(const DeviceInfo& device, const GemmProblem& problem) {
  if (device.kind != DeviceKind::cuda || device.cc_major != 9 || device.cc_minor != 0) {
    return Support::no("E_UNSUPPORTED_ARCH", "wgmma kernels need sm_90 (Hopper)");
  }
  if (!own_gemm_type(problem.dtype)) {
    return Support::no("E_UNSUPPORTED_DTYPE",
                       fmt::format("the wgmma kernels have no {}", to_string(problem.dtype)));
  }
  if (Support support = gemm_support(problem); !support.ok) return support;
  if (problem.batch > 1) {
    return Support::no("E_UNSUPPORTED_SHAPE", "the wgmma kernels take one product: batch=1");
  }
  const std::string refusal = sm90a_refusal(own_gemm_arguments(problem));
  return refusal.empty() ? Support::yes() : Support::no("E_UNSUPPORTED_SHAPE", refusal);
}

std::unique_ptr<Plan> own_sm90a_gemm_plan(Context& context, const GemmProblem& problem) {
  return std::make_unique<OwnSm90aPlan>(context, problem);
}

std::uint64_t own_sm90a_gemm_copy_bytes(const GemmProblem& problem) {
  return own_gemm_type(problem.dtype) ? sm90a_copy_bytes(own_gemm_arguments(problem)) : 0;
}

}  // namespace gpubench
