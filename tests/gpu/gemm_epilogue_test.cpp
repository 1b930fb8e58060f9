// SPDX-License-Identifier: Apache-2.0
// GEMM epilogues with a matrix of their own, by cuBLASLt and by our own kernels: right in every
// matrix, and wrong ones found in either output.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/suite.h"
#include "gpubench/error.h"
#include "ops/gemm/providers.h"
#include "tests/gemm_plan_check.h"

namespace gpubench {
namespace {

constexpr double kSampled = 0, kFull = 1e15;  // full_check_flops: no product, every product
constexpr Epilogue kNew[] = {Epilogue::bias_gelu_aux, Epilogue::bias_residual};

class GemmEpilogueOnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    const CudaState state = cuda_state();
    if (state.kind != CudaState::Kind::ok) GTEST_SKIP() << state.message;
    gpu = std::make_unique<TestBench>(make_cuda_device(0));
    gpu->conditions.cache = CacheMode::hot;
  }

  /// Those that there are here; a library that is missing has its own tests that say so.
  std::vector<const Provider<GemmProblem>*> providers() {
    std::vector<const Provider<GemmProblem>*> found;
    for (const Provider<GemmProblem>& provider : gemm_providers()) {
      if (provider.name == std::string("cpu")) continue;
      if (provider.name == std::string("cublaslt")) {
        try {
          gpu->libraries.cublaslt();
        } catch (const Unsupported&) {
          continue;
        }
      }
      found.push_back(&provider);
    }
    return found;
  }

  /// nullptr where the provider says that it has none. cuBLASLt may say so late: of FP64, and of
  /// the aux matrix of FP8 products.
  std::unique_ptr<Plan> plan_of(const Provider<GemmProblem>& provider, const GemmProblem& problem) {
    if (!provider.supports(gpu->device->info(), problem).ok) return nullptr;
    Context context = gpu->context();
    try {
      return provider.plan(context, problem);
    } catch (const Unsupported& refused) {
      EXPECT_TRUE(problem.dtype == Dtype::fp64 ||
                  (is_fp8(problem.dtype) && has_aux(problem.epilogue)))
          << refused.what();
      EXPECT_EQ(provider.name, std::string("cublaslt")) << refused.what();
      return nullptr;
    }
  }

  static std::string describe(const Provider<GemmProblem>& provider, const GemmProblem& problem) {
    return std::string(provider.name) + " " + std::string(to_string(problem.dtype)) + " " +
           epilogue_names()[static_cast<std::size_t>(problem.epilogue)] + " " +
           std::to_string(problem.m) + "x" + std::to_string(problem.n) + "x" +
           std::to_string(problem.k);
  }

  /// Counts what was computed.
  int expect_right(const GemmProblem& problem,
                   const std::vector<double>& full_check_flops = {kFull, kSampled}) {
    int computed = 0;
    for (const Provider<GemmProblem>* provider : providers()) {
      for (const double full : full_check_flops) {
        std::unique_ptr<Plan> plan = plan_of(*provider, problem);
        if (plan == nullptr) continue;
        const Check check = verify_gemm_plan(*gpu, problem, std::move(plan), full);
        EXPECT_TRUE(check.passed) << describe(*provider, problem) << ": " << check.detail;
        EXPECT_GT(check.error, 0) << describe(*provider, problem);
        ++computed;
      }
    }
    return computed;
  }

  std::unique_ptr<TestBench> gpu;
};

TEST_F(GemmEpilogueOnGpu, EveryTypeAndMatrixIsRight) {
  int computed = 0;
  for (const Epilogue epilogue : kNew) {
    for (const Dtype dtype : {Dtype::fp64, Dtype::fp32, Dtype::tf32, Dtype::fp16, Dtype::bf16,
                              Dtype::fp8_e4m3, Dtype::fp8_e5m2}) {
      for (const std::int64_t batch : {1, 3}) {
        computed += expect_right(
            {.m = 320, .n = 528, .k = 272, .batch = batch, .dtype = dtype, .epilogue = epilogue});
      }
    }
  }
  EXPECT_EQ(computed > 0, !providers().empty());
}

TEST_F(GemmEpilogueOnGpu, EveryLayoutIsRightAtOddSizes) {
  for (const Epilogue epilogue : kNew) {
    for (const Dtype dtype : {Dtype::tf32, Dtype::fp16, Dtype::bf16}) {
      for (const int layout : {0, 1, 2, 3}) {
        for (const std::int64_t n : {131, 136}) {
          GemmProblem problem{.m = 67, .n = n, .k = 40, .dtype = dtype, .epilogue = epilogue};
          problem.a_k_contiguous = layout / 2 == 0;
          problem.b_k_contiguous = layout % 2 == 0;
          if (n % 8 == 0) {
            expect_right(problem);
            continue;
          }
          // The library may refuse odd 16-bit sizes; our own kernels take any.
          for (const Provider<GemmProblem>* provider : providers()) {
            if (provider->name != std::string("own_sm90a")) continue;
            std::unique_ptr<Plan> plan = plan_of(*provider, problem);
            if (plan == nullptr) continue;
            const Check check = verify_gemm_plan(*gpu, problem, std::move(plan), kFull);
            EXPECT_TRUE(check.passed) << describe(*provider, problem) << ": " << check.detail;
          }
        }
      }
    }
  }
}

TEST_F(GemmEpilogueOnGpu, EveryFaultInEveryOutputIsFound) {
  for (const Epilogue epilogue : kNew) {
    for (const Dtype dtype :
         {Dtype::fp32, Dtype::tf32, Dtype::fp16, Dtype::bf16, Dtype::fp8_e4m3, Dtype::fp8_e5m2}) {
      const GemmProblem problem{.m = 256, .n = 384, .k = 512, .dtype = dtype, .epilogue = epilogue};
      for (const Provider<GemmProblem>* provider : providers()) {
        for (std::size_t output = 0; output < (has_aux(epilogue) ? 2u : 1u); ++output) {
          for (const Fault fault : kAllFaults) {
            for (const double full : {kFull, kSampled}) {
              std::unique_ptr<Plan> plan = plan_of(*provider, problem);
              if (plan == nullptr) continue;
              plan =
                  plant_fault(*gpu->device, std::move(plan), gemm_operands(problem), fault, output);
              const Check check = verify_gemm_plan(*gpu, problem, std::move(plan), full);
              EXPECT_FALSE(check.passed)
                  << describe(*provider, problem) << " " << to_string(fault) << output;
              if (output == 1 && fault != Fault::swapped_operands) {
                EXPECT_NE(check.detail.find("aux: "), std::string::npos) << check.detail;
              }
            }
          }
        }
      }
    }
  }
}

TEST_F(GemmEpilogueOnGpu, TunedPlansAreRight) {
  for (const Epilogue epilogue : kNew) {
    expect_right({.m = 512, .n = 768, .k = 1024, .epilogue = epilogue, .tune = true}, {kFull});
  }
}

}  // namespace
}  // namespace gpubench
