// SPDX-License-Identifier: Apache-2.0
// cuBLASLt and the GPU's double reference.
#include <cmath>
#include <optional>
#include <vector>

#include "core/suite.h"
#include "gpubench/error.h"
#include "tests/gemm_plan_check.h"

namespace gpubench {
namespace {

constexpr double kSampled = 0;  // full_check_flops of no product: all are sampled

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
    std::vector<Dtype> all{Dtype::fp64, Dtype::fp32, Dtype::tf32,
                           Dtype::fp16, Dtype::bf16, Dtype::int8};
    if (has_fp8()) all.insert(all.end(), {Dtype::fp8_e4m3, Dtype::fp8_e5m2});
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
    for (const Epilogue epilogue : kAllEpilogues) {
      const GemmProblem problem{.m = 320, .n = 528, .k = 272, .dtype = dtype, .epilogue = epilogue};
      if (!gemm_support(problem).ok) continue;  // INT8 has no epilogue
      try {
        const Check full = verify(problem), sampled = verify(problem, kSampled);
        EXPECT_TRUE(full.passed) << to_string(dtype) << ": " << full.detail;
        EXPECT_TRUE(sampled.passed) << to_string(dtype) << ": " << sampled.detail;
        if (dtype == Dtype::int8) {
          EXPECT_EQ(full.error, 0);
        } else {
          EXPECT_GT(full.error, 0) << "an error of exactly zero would mean nothing was compared";
        }
      } catch (const Unsupported& refused) {
        // The library may have no fused epilogue in FP64, and no aux matrix of FP8 products.
        EXPECT_TRUE((dtype == Dtype::fp64 && epilogue != Epilogue::none) ||
                    (is_fp8(dtype) && has_aux(epilogue)))
            << refused.what();
      }
    }
  }
}

TEST_F(GemmOnGpu, EveryLayoutIsRightAtOddSizes) {
  for (const Dtype dtype : {Dtype::fp64, Dtype::fp32, Dtype::tf32, Dtype::fp16, Dtype::bf16}) {
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

TEST_F(GemmOnGpu, EveryMatrixOfABatchIsRight) {
  for (const Dtype dtype : types()) {
    for (const bool layouts : {false, true}) {
      GemmProblem problem{.m = 96, .n = 80, .k = 144, .batch = 5, .dtype = dtype};
      if (layouts && (is_fp8(dtype) || dtype == Dtype::int8)) continue;
      problem.a_k_contiguous = problem.b_k_contiguous = !layouts;
      const Check full = verify(problem), sampled = verify(problem, kSampled);
      EXPECT_TRUE(full.passed) << to_string(dtype) << layouts << ": " << full.detail;
      EXPECT_TRUE(sampled.passed) << to_string(dtype) << layouts << ": " << sampled.detail;
    }
  }
}

TEST_F(GemmOnGpu, EveryPlantedFaultIsFound) {
  for (const Dtype dtype : types()) {
    for (const Fault fault : kAllFaults) {
      gpu->conditions.fault = fault;
      for (const std::int64_t n : {256, 384}) {  // equal and unequal operand sizes
        for (const std::int64_t batch : {1, 3}) {
          const GemmProblem problem{.m = 256, .n = n, .k = 512, .batch = batch, .dtype = dtype};
          EXPECT_FALSE(verify(problem).passed) << to_string(dtype) << to_string(fault) << n;
          EXPECT_FALSE(verify(problem, kSampled).passed)
              << to_string(dtype) << to_string(fault) << n;
        }
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

TEST_F(GemmOnGpu, Fp64IsFp64) {
  const GemmProblem problem{.m = 512, .n = 512, .k = 2048, .dtype = Dtype::fp64};
  const Check check = verify(problem);
  EXPECT_TRUE(check.passed) << check.error << " of " << check.tolerance;
  EXPECT_GT(check.error, 1e-17) << "the reference would have to be the library's own sum";
  EXPECT_EQ(check.reference, "twice FP64's precision on the device, every element");
}

/// Sums beyond FP32's 2^24, from both ends of the range.
TEST_F(GemmOnGpu, Int8IsExactForLongSums) {
  for (const std::int64_t k : {4096, 65536}) {
    const Check check = verify({.m = 64, .n = 128, .k = k, .dtype = Dtype::int8});
    EXPECT_TRUE(check.passed) << check.detail;
    EXPECT_EQ(check.error, 0);
  }
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
      for (const Epilogue epilogue : kAllEpilogues) {
        GemmProblem problem{
            .m = 133, .n = 71, .k = 59, .batch = 2, .dtype = Dtype::fp32, .epilogue = epilogue};
        problem.a_k_contiguous = a_k;
        problem.b_k_contiguous = b_k;
        const OperandSets host(on_cpu, gemm_operands(problem));
        const OperandSets device(on_gpu, gemm_operands(problem));
        for (std::size_t i = 0; i < host.operands().size(); ++i) {
          if (host.operands()[i].role != Role::input) continue;
          gpu->device->copy_to_device(*gpu->stream, device.set(0)[i], host.set(0)[i],
                                      host.operands()[i].count * sizeof(float));
        }
        constexpr std::size_t kCount = 2 * 133 * 71;
        const std::size_t outputs = has_aux(epilogue) ? 2 : 1;
        std::vector<float> wanted(outputs * kCount), given(wanted.size());
        const Buffer out(*gpu->device, given.size() * sizeof(float));
        float* const wanted_data[] = {wanted.data(), wanted.data() + kCount};
        auto* first_out = static_cast<float*>(out.data());
        float* const out_data[] = {first_out, first_out + kCount};
        gemm_verification(on_cpu, problem, 1e12)
            .reference(*cpu.stream, host.set(0), {wanted_data, outputs});
        gemm_verification(on_gpu, problem, 1e12)
            .reference(*gpu->stream, device.set(0), {out_data, outputs});
        gpu->device->copy_to_host(*gpu->stream, given.data(), out.data(), out.size());
        for (std::size_t i = 0; i < wanted.size(); ++i) {
          ASSERT_NEAR(given[i], wanted[i], 1e-6 * (1 + std::fabs(wanted[i]))) << a_k << b_k << i;
        }
      }
    }
  }
}

/// FP64 data differ between host and device in the last bits of log and cos, so they are copied.
TEST_F(GemmOnGpu, DeviceReferenceOfFp64EqualsTheHosts) {
  TestBench cpu(make_cpu_device());
  cpu.conditions.cache = CacheMode::hot;
  Context on_gpu = gpu->context(), on_cpu = cpu.context();
  for (const Epilogue epilogue : kAllEpilogues) {
    GemmProblem problem{.m = 133,
                        .n = 71,
                        .k = 59,
                        .batch = 3,
                        .dtype = Dtype::fp64,
                        .b_k_contiguous = false,
                        .epilogue = epilogue};
    const OperandSets host(on_cpu, gemm_operands(problem));
    const OperandSets device(on_gpu, gemm_operands(problem));
    for (std::size_t i = 0; i < host.operands().size(); ++i) {
      if (host.operands()[i].role != Role::input) continue;
      gpu->device->copy_to_device(*gpu->stream, device.set(0)[i], host.set(0)[i],
                                  host.operands()[i].count * sizeof(double));
    }
    constexpr std::size_t kCount = 3 * 133 * 71;
    const std::size_t outputs = has_aux(epilogue) ? 2 : 1;
    std::vector<double> wanted(outputs * kCount), given(wanted.size());
    const Buffer out(*gpu->device, given.size() * sizeof(double));
    double* const wanted_data[] = {wanted.data(), wanted.data() + kCount};
    auto* first_out = static_cast<double*>(out.data());
    double* const out_data[] = {first_out, first_out + kCount};
    gemm_verification(on_cpu, problem, 1e12)
        .wide_reference(*cpu.stream, host.set(0), {wanted_data, outputs});
    gemm_verification(on_gpu, problem, 1e12)
        .wide_reference(*gpu->stream, device.set(0), {out_data, outputs});
    gpu->device->copy_to_host(*gpu->stream, given.data(), out.data(), out.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      // A few roundings of FP64; a sum in FP64 itself would be off by more.
      ASSERT_NEAR(given[i], wanted[i], 8 * 0x1p-53 * (1 + std::fabs(wanted[i]))) << i;
    }
  }
}

/// 1 is lost beside 2^60 in a sum in double.
TEST_F(GemmOnGpu, DeviceReferenceSumsFp64InTwiceItsPrecision) {
  Context context = gpu->context();
  const GemmProblem problem{.m = 1, .n = 1, .k = 3, .dtype = Dtype::fp64};
  const OperandSets sets(context, gemm_operands(problem));
  const double a[] = {0x1p60, 1, -0x1p60}, b[] = {1, 1, 1};
  gpu->device->copy_to_device(*gpu->stream, sets.set(0)[0], a, sizeof a);
  gpu->device->copy_to_device(*gpu->stream, sets.set(0)[1], b, sizeof b);
  const Buffer out(*gpu->device, sizeof(double));
  auto* out_data = static_cast<double*>(out.data());
  gemm_verification(context, problem, 1e12)
      .wide_reference(*gpu->stream, sets.set(0), {&out_data, 1});
  double sum = 0;
  gpu->device->copy_to_host(*gpu->stream, &sum, out.data(), sizeof sum);
  EXPECT_EQ(sum, 1);
}

}  // namespace
}  // namespace gpubench
