// SPDX-License-Identifier: Apache-2.0
// GEMM on the cpu device: operands are FP32 values rounded to their type, the product is FP32.
#include "gpubench/error.h"
#include "libs/cblas.h"
#include "libs/libraries.h"
#include "ops/gemm/epilogue.h"
#include "ops/gemm/providers.h"
#include "ops/support/parallel.h"

namespace gpubench {
namespace {

class CpuGemmPlan : public Plan {
 public:
  CpuGemmPlan(const CblasApi& cblas, const GemmProblem& problem)
      : cblas_(cblas), problem_(problem) {}

  std::size_t workspace_bytes() const override { return 0; }
  std::string algorithm() const override { return cblas_.name() + " sgemm"; }

  void run(Stream&, std::span<void* const> operands, void*) override {
    const auto m = static_cast<std::size_t>(problem_.m), n = static_cast<std::size_t>(problem_.n);
    const auto k = static_cast<std::size_t>(problem_.k);
    const auto* a = static_cast<const float*>(operands[0]);
    const auto* b = static_cast<const float*>(operands[1]);
    auto* c = static_cast<float*>(operands.back());
    const double dequant = dequant_scale(problem_.dtype);
    cblas_.sgemm(problem_.a_k_contiguous ? CblasApi::kNoTrans : CblasApi::kTrans,
                 problem_.b_k_contiguous ? CblasApi::kTrans : CblasApi::kNoTrans, m, n, k,
                 static_cast<float>(dequant * dequant), a, problem_.a_k_contiguous ? k : m, b,
                 problem_.b_k_contiguous ? k : n, 0.f, c, n);
    const bool has_bias = problem_.epilogue != Epilogue::none;
    finish(c, has_bias ? static_cast<const float*>(operands[2]) : nullptr);
  }

 private:
  /// Bias, GELU and the rounding to the output's type, over the whole of C.
  void finish(float* c, const float* bias) const {
    const Dtype out = output_dtype(problem_.dtype);
    if (bias == nullptr && out == Dtype::fp32) return;
    const auto n = static_cast<std::size_t>(problem_.n);
    const bool gelu = problem_.epilogue == Epilogue::bias_gelu;
    constexpr std::size_t kGrainElements = 1 << 15;
    parallel_for(static_cast<std::size_t>(problem_.m), kGrainElements / n + 1,
                 [&](std::size_t begin, std::size_t end) {
                   for (std::size_t i = begin * n; i < end * n; ++i) {
                     float value = c[i];
                     if (bias != nullptr) value += bias[i % n];
                     if (gelu) value = gelu_tanh(value);
                     c[i] = round_to(out, value);
                   }
                 });
  }

  const CblasApi& cblas_;
  GemmProblem problem_;
};

}  // namespace

Support cpu_gemm_supports(const DeviceInfo& device, const GemmProblem&) {
  if (device.kind != DeviceKind::cpu) {
    return Support::no("E_UNSUPPORTED_ARCH", "computes on the cpu device only (--device cpu)");
  }
  return Support::yes();
}

std::unique_ptr<Plan> cpu_gemm_plan(Context& context, const GemmProblem& problem) {
  return std::make_unique<CpuGemmPlan>(context.libraries.cblas(), problem);
}

}  // namespace gpubench
