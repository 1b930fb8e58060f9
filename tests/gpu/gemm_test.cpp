// SPDX-License-Identifier: Apache-2.0
// cuBLASLt and the GPU's double reference.
#include <cmath>
#include <optional>
#include <vector>

#include "core/suite.h"
#include "gpubench/error.h"
#include "ops/gemm/job.h"
#include "ops/gemm/reference.h"
#include "tests/ops_fixture.h"

namespace gpubench {
namespace {

constexpr double kSampled = 0;  // full_check_flops of no product: all are sampled
constexpr Epilogue kEpilogues[] = {Epilogue::none, Epilogue::bias, Epilogue::bias_gelu};

class GemmOnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    const CudaState state = cuda_state();
    if (state.kind != CudaState::Kind::ok) GTEST_SKIP() << state.message;
    gpu = std::make_unique<TestBench>(make_cuda_device(0));
    gpu->conditions.cache = CacheMode::hot;
    try {
      gpu->libraries.cublaslt();
    } catch (const Unsupported& missing) {
      GTEST_SKIP() << missing.what();
    }
  }

  bool has_fp8() const {
    const DeviceInfo& info = gpu->device->info();
    return info.cc_major * 10 + info.cc_minor >= 89;
  }
  std::vector<Dtype> types() const {
    std::vector<Dtype> all{Dtype::fp32, Dtype::tf32, Dtype::fp16, Dtype::bf16};
    if (has_fp8()) all.push_back(Dtype::fp8_e4m3);
    return all;
  }
  Check verify(const GemmProblem& problem, std::optional<double> full = std::nullopt) {
    Context context = gpu->context();
    return make_gemm_job(context, problem, "cublaslt", full)->verify(*gpu->stream);
  }

  std::unique_ptr<TestBench> gpu;
};

TEST_F(GemmOnGpu, EveryTypeAndEpilogueIsRightInFullAndSampledChecks) {
  for (const Dtype dtype : types()) {
    for (const Epilogue epilogue : kEpilogues) {
      const GemmProblem problem{.m = 320, .n = 528, .k = 272, .dtype = dtype, .epilogue = epilogue};
      const Check full = verify(problem), sampled = verify(problem, kSampled);
      EXPECT_TRUE(full.passed) << to_string(dtype) << ": " << full.detail;
      EXPECT_TRUE(sampled.passed) << to_string(dtype) << ": " << sampled.detail;
      EXPECT_GT(full.error, 0) << "an error of exactly zero would mean nothing was compared";
    }
  }
}

TEST_F(GemmOnGpu, EveryLayoutIsRightAtOddSizes) {
  for (const Dtype dtype : {Dtype::fp32, Dtype::tf32, Dtype::fp16, Dtype::bf16}) {
    for (const bool a_k : {true, false}) {
      for (const bool b_k : {true, false}) {
        GemmProblem problem{.m = 67, .n = 131, .k = 45, .dtype = dtype};
        problem.a_k_contiguous = a_k;
        problem.b_k_contiguous = b_k;
        try {
          const Check full = verify(problem), sampled = verify(problem, kSampled);
          EXPECT_TRUE(full.passed) << to_string(dtype) << a_k << b_k << ": " << full.detail;
          EXPECT_TRUE(sampled.passed) << to_string(dtype) << a_k << b_k << ": " << sampled.detail;
        } catch (const Unsupported& refused) {
          EXPECT_EQ(refused.code(),
                    "E_UNSUPPORTED_SHAPE");  // the library may refuse odd 16-bit sizes
        }
      }
    }
  }
}

TEST_F(GemmOnGpu, EveryPlantedFaultIsFound) {
  for (const Dtype dtype : types()) {
    for (const Fault fault : kAllFaults) {
      gpu->conditions.fault = fault;
      for (const std::int64_t n : {256, 384}) {  // equal and unequal operand sizes
        const GemmProblem problem{.m = 256, .n = n, .k = 512, .dtype = dtype};
        EXPECT_FALSE(verify(problem).passed) << to_string(dtype) << to_string(fault) << n;
        EXPECT_FALSE(verify(problem, kSampled).passed) << to_string(dtype) << to_string(fault) << n;
      }
    }
  }
}

TEST_F(GemmOnGpu, Fp8AccumulatesBothWays) {
  if (!has_fp8()) GTEST_SKIP() << "no FP8 before sm_89";
  GemmProblem problem{.m = 512, .n = 512, .k = 8192, .dtype = Dtype::fp8_e4m3};
  const Check fast = verify(problem);
  problem.fast_accum = false;
  const Check slow = verify(problem);
  EXPECT_TRUE(fast.passed) << fast.error << " " << fast.detail;
  EXPECT_TRUE(slow.passed) << slow.error << " " << slow.detail;
  EXPECT_LE(slow.error, fast.error);
}

TEST_F(GemmOnGpu, Fp32IsNotSecretlyTf32) {
  GemmProblem problem{.m = 512, .n = 512, .k = 2048, .dtype = Dtype::fp32};
  const Check check = verify(problem);
  EXPECT_TRUE(check.passed) << check.error;
  EXPECT_LT(check.error, 1e-4);  // inputs rounded to TF32 would give 1e-3
}

TEST_F(GemmOnGpu, TuningNamesTheAlgorithmItChose) {
  Context context = gpu->context();
  const GemmProblem problem{.m = 1024, .n = 1024, .k = 1024, .tune = true};
  const auto job = make_gemm_job(context, problem, "auto");
  EXPECT_EQ(job->info().impl, "cublaslt");
  EXPECT_NE(job->info().algorithm.find("id "), std::string::npos) << job->info().algorithm;
  EXPECT_NE(job->info().algorithm.find("tuned of"), std::string::npos) << job->info().algorithm;
  EXPECT_TRUE(job->verify(*gpu->stream).passed);
}

/// The two references share no arithmetic code: host loops and the GPU kernel, on the same values.
TEST_F(GemmOnGpu, DeviceReferenceEqualsTheHosts) {
  TestBench cpu(make_cpu_device());
  cpu.conditions.cache = CacheMode::hot;
  Context on_gpu = gpu->context(), on_cpu = cpu.context();
  for (const bool a_k : {true, false}) {
    for (const bool b_k : {true, false}) {
      for (const Epilogue epilogue : kEpilogues) {
        GemmProblem problem{.m = 133, .n = 71, .k = 59, .dtype = Dtype::fp32, .epilogue = epilogue};
        problem.a_k_contiguous = a_k;
        problem.b_k_contiguous = b_k;
        const OperandSets host(on_cpu, gemm_operands(problem));
        const OperandSets device(on_gpu, gemm_operands(problem));
        for (std::size_t i = 0; i + 1 < host.operands().size(); ++i) {
          gpu->device->copy_to_device(*gpu->stream, device.set(0)[i], host.set(0)[i],
                                      host.operands()[i].count * sizeof(float));
        }
        std::vector<float> wanted(133 * 71), given(wanted.size());
        const Buffer out(*gpu->device, given.size() * sizeof(float));
        float* wanted_data = wanted.data();
        auto* out_data = static_cast<float*>(out.data());
        gemm_verification(on_cpu, problem, 1e12)
            .reference(*cpu.stream, host.set(0), {&wanted_data, 1});
        gemm_verification(on_gpu, problem, 1e12)
            .reference(*gpu->stream, device.set(0), {&out_data, 1});
        gpu->device->copy_to_host(*gpu->stream, given.data(), out.data(), out.size());
        for (std::size_t i = 0; i < wanted.size(); ++i) {
          ASSERT_NEAR(given[i], wanted[i], 1e-6 * (1 + std::fabs(wanted[i]))) << a_k << b_k << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace gpubench
