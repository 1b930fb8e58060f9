// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/suite.h"
#include "gpubench/error.h"
#include "ops/gemm/providers.h"
#include "tests/gemm_plan_check.h"

namespace gpubench {
namespace {

constexpr Dtype kTypes[] = {Dtype::fp64, Dtype::fp32,     Dtype::tf32,     Dtype::fp16,
                            Dtype::bf16, Dtype::fp8_e4m3, Dtype::fp8_e5m2, Dtype::int8};
constexpr double kSampled = 0;  // full_check_flops of no product: all are sampled

GemmProblem odd_problem(Dtype dtype) { return {.m = 67, .n = 131, .k = 45, .dtype = dtype}; }

class GemmOnCpu : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      bench.libraries.cblas();
    } catch (const Unsupported& missing) {
      GTEST_SKIP() << missing.what();
    }
    bench.conditions.cache = CacheMode::hot;
  }
  Check verify(const GemmProblem& problem, std::optional<double> full = std::nullopt) {
    Context context = bench.context();
    return make_gemm_job(context, problem, "cpu", full)->verify(*bench.stream);
  }
  TestBench bench{make_cpu_device()};
};

TEST_F(GemmOnCpu, EveryTypeLayoutAndEpilogueIsRight) {
  for (const Dtype dtype : kTypes) {
    for (const bool a_k : {true, false}) {
      for (const bool b_k : {true, false}) {
        for (const Epilogue epilogue : kAllEpilogues) {
          GemmProblem problem = odd_problem(dtype);
          problem.a_k_contiguous = a_k;
          problem.b_k_contiguous = b_k;
          problem.epilogue = epilogue;
          if (!gemm_support(problem).ok) continue;  // INT8 has no epilogue
          const Check full = verify(problem), sampled = verify(problem, kSampled);
          EXPECT_TRUE(full.passed) << to_string(dtype) << a_k << b_k << ": " << full.detail;
          EXPECT_TRUE(sampled.passed) << to_string(dtype) << a_k << b_k << ": " << sampled.detail;
        }
      }
    }
  }
}

TEST_F(GemmOnCpu, EveryPlantedFaultIsFoundInFullAndSampledChecks) {
  for (const Dtype dtype : kTypes) {
    for (const Fault fault : kAllFaults) {
      bench.conditions.fault = fault;
      GemmProblem problem = odd_problem(dtype);
      EXPECT_FALSE(verify(problem).passed) << to_string(dtype) << to_string(fault);
      EXPECT_FALSE(verify(problem, kSampled).passed) << to_string(dtype) << to_string(fault);
      problem.m = problem.n = problem.k;  // equal sizes: the operands really change places
      if (dtype != Dtype::int8) problem.epilogue = Epilogue::bias;
      EXPECT_FALSE(verify(problem).passed) << to_string(dtype) << to_string(fault);
      EXPECT_FALSE(verify(problem, kSampled).passed) << to_string(dtype) << to_string(fault);
    }
  }
}

TEST_F(GemmOnCpu, OddSizesAndBatchesAreRightAndTheirFaultsAreFound) {
  for (const Dtype dtype : kTypes) {
    for (const auto& [m, n, k, batch] : {std::array<std::int64_t, 4>{1, 3, 1025, 1},
                                         {3, 1, 7, 5},
                                         {1, 1, 1, 1},
                                         {66, 65, 67, 3}}) {
      const GemmProblem problem{.m = m, .n = n, .k = k, .batch = batch, .dtype = dtype};
      for (const double full : {kSampled, 1e15}) {
        bench.conditions.fault = Fault::none;
        const Check check = verify(problem, full);
        EXPECT_TRUE(check.passed) << to_string(dtype) << m << " " << batch << check.detail;
        for (const Fault fault : kAllFaults) {
          // A matrix of one element stays what it is when shifted.
          if (fault == Fault::swapped_operands && m * n * k == 1) continue;
          bench.conditions.fault = fault;
          EXPECT_FALSE(verify(problem, full).passed)
              << to_string(dtype) << m << " " << batch << to_string(fault);
        }
      }
    }
  }
}

TEST_F(GemmOnCpu, CheckSaysHowItWasDone) {
  GemmProblem problem = odd_problem(Dtype::fp32);
  EXPECT_EQ(verify(problem).reference, "double on the host, every element");
  EXPECT_NE(verify(problem, kSampled).reference.find("projection"), std::string::npos);
  EXPECT_EQ(verify(odd_problem(Dtype::fp64)).reference,
            "twice FP64's precision on the host, every element");
  problem.epilogue = Epilogue::bias_gelu;  // no projection sees through GELU
  EXPECT_EQ(verify(problem, kSampled).reference, "double on the host, every element");
}

TEST_F(GemmOnCpu, InfoTellsEmulationAndTheWorkloadCounts) {
  const auto bf16 = bench.job("ops/gemm", {{"m", "16"}, {"n", "32"}, {"k", "8"}});
  EXPECT_EQ(bf16->info().impl, "cpu");
  EXPECT_TRUE(bf16->info().emulated);
  EXPECT_EQ(bf16->info().peak_dtype, "");
  EXPECT_EQ(bf16->work().flops, 2.0 * 16 * 32 * 8);
  EXPECT_EQ(bf16->work().bytes, 2.0 * (16 * 8 + 8 * 32 + 16 * 32));
  const auto fp32 =
      bench.job("ops/gemm", {{"m", "16"}, {"n", "32"}, {"k", "8"}, {"dtype", "fp32"}});
  EXPECT_FALSE(fp32->info().emulated);
  EXPECT_EQ(fp32->info().peak_dtype, "fp32");
}

/// The reference itself, against three loops written from the definition of the layout letters.
TEST(GemmReferenceOnCpu, MatchesTheDefinition) {
  constexpr std::int64_t m = 5, n = 7, k = 3, batch = 2;
  std::vector<float> a(batch * m * k), b(batch * k * n), bias(n), out(batch * m * n);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i) - 6.f;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = 0.25f * static_cast<float>(i * i % 11) - 1.f;
  for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<float>(i);
  TestBench bench(make_cpu_device());
  Context context = bench.context();
  for (const std::string layout : {"tn", "tt", "nn", "nt"}) {
    GemmProblem problem{.m = m, .n = n, .k = k, .batch = batch, .dtype = Dtype::fp32};
    problem.a_k_contiguous = layout[0] == 't';
    problem.b_k_contiguous = layout[1] == 'n';
    problem.epilogue = Epilogue::bias_gelu;
    const GemmVerification checks = gemm_verification(context, problem, 1e12);
    const std::vector<void*> operands{a.data(), b.data(), bias.data(), nullptr};
    float* reference = out.data();
    checks.reference(*bench.stream, operands, {&reference, 1});
    for (std::int64_t index = 0; index < batch * m; ++index) {
      const std::int64_t matrix = index / m, row = index % m;
      for (std::int64_t column = 0; column < n; ++column) {
        double sum = bias[static_cast<std::size_t>(column)];
        for (std::int64_t i = 0; i < k; ++i) {
          const auto at_a = static_cast<std::size_t>(
              matrix * m * k + (layout[0] == 't' ? row * k + i : i * m + row));
          const auto at_b = static_cast<std::size_t>(
              matrix * k * n + (layout[1] == 'n' ? column * k + i : i * n + column));
          sum += static_cast<double>(a[at_a]) * static_cast<double>(b[at_b]);
        }
        const double tanh_of = 0.7978845608028654 * (sum + 0.044715 * sum * sum * sum);
        const double wanted = 0.5 * sum * (1 + std::tanh(tanh_of));
        EXPECT_NEAR(out[static_cast<std::size_t>(index * n + column)], wanted, 1e-5) << layout;
      }
    }
  }
}

/// Columns of one projection group that changed places: their plain sum would be the same.
TEST(GemmSampledCheck, SeesColumnsThatChangedPlacesAndOneWrongElement) {
  TestBench bench(make_cpu_device());
  Context context = bench.context();
  const GemmProblem problem{.m = 130, .n = 200, .k = 64, .dtype = Dtype::bf16};
  const OperandSets sets(context, gemm_operands(problem));
  const std::span<void* const> operands = sets.set(0);
  float* c = static_cast<float*>(operands.back());
  gemm_verification(context, problem, 1e12).reference(*bench.stream, operands, {&c, 1});
  const VerifySetFn check = gemm_verification(context, problem, kSampled).verify_set;
  ASSERT_TRUE(check(*bench.stream, operands).passed);

  for (std::int64_t row = 0; row < problem.m; ++row)
    std::swap(c[row * 200 + 70], c[row * 200 + 71]);
  EXPECT_FALSE(check(*bench.stream, operands).passed);
  for (std::int64_t row = 0; row < problem.m; ++row)
    std::swap(c[row * 200 + 70], c[row * 200 + 71]);
  ASSERT_TRUE(check(*bench.stream, operands).passed);

  const double two_rms = 2 * std::sqrt(64.0);
  for (const std::size_t at : {0u, 13333u, 25999u}) {
    const float right = c[at];
    c[at] += static_cast<float>(two_rms);
    EXPECT_FALSE(check(*bench.stream, operands).passed) << at;
    c[at] = right;
  }
}

TEST(GemmData, Fp8FillsItsRangeWithoutSaturating) {
  TestBench bench(make_cpu_device());
  const Operand a = gemm_operands({.m = 512, .n = 16, .k = 512, .dtype = Dtype::fp8_e4m3})[0];
  std::vector<float> values(a.count);
  fill_operand(*bench.device, *bench.stream, values.data(), a, DataDist::normal, 1, 0);
  std::set<float> distinct(values.begin(), values.end());
  std::size_t at_limit = 0;
  for (const float value : values) at_limit += std::fabs(value) >= 448.f;
  EXPECT_GT(distinct.size(), 100u);
  EXPECT_LT(static_cast<double>(at_limit), 0.01 * static_cast<double>(values.size()));
}

TEST(GemmTolerance, IsTightEnoughForEachType) {
  GemmProblem problem{.m = 8192, .n = 8192, .k = 8192};
  const auto tolerance = [&](Dtype dtype, bool fast) {
    problem.dtype = dtype;
    problem.fast_accum = fast;
    return gemm_tolerance(problem);
  };
  EXPECT_EQ(tolerance(Dtype::int8, true), 0);
  EXPECT_LT(tolerance(Dtype::fp64, true), 1e-13);  // FP32 operands would give 1e-7
  EXPECT_LT(tolerance(Dtype::fp32, true), 1e-4);   // TF32 rounding of the inputs would be 1e-3
  EXPECT_LT(tolerance(Dtype::tf32, true), 5e-3);   // FP32 data, cut by the tensor core
  EXPECT_LT(tolerance(Dtype::fp16, true), 2e-3);
  EXPECT_LT(tolerance(Dtype::bf16, true), 1e-2);
  EXPECT_LT(tolerance(Dtype::fp8_e4m3, true), 5e-2);
  EXPECT_LT(tolerance(Dtype::fp8_e4m3, false), 1e-2);
}

TEST(GemmWorkload, RefusesWhatDoesNotFitANumber) {
  const WorkloadInfo& info = find_workload("ops/gemm");
  const auto footprint = [&](const std::map<std::string, std::string>& given) {
    return info.footprint(cpu_device_info(), {}, Params::resolve(info.params, given));
  };
  EXPECT_GT(footprint({}), 3ull * 4096 * 4096 * 4);
  EXPECT_THROW(footprint({{"m", "1T"}, {"k", "1T"}}), ConfigError);
  EXPECT_THROW(footprint({{"layout", "ab"}}), ConfigError);
}

#if GPUBENCH_HAS_CUDA
TEST(CublasLtSupport, HasNoGeluOfFp64sPrecision) {
  DeviceInfo device;
  device.kind = DeviceKind::cuda;
  device.cc_major = 9;
  GemmProblem problem{.m = 64, .n = 64, .k = 64, .dtype = Dtype::fp64, .epilogue = Epilogue::bias};
  EXPECT_TRUE(cublaslt_gemm_supports(device, problem).ok);
  problem.epilogue = Epilogue::bias_gelu;
  EXPECT_EQ(cublaslt_gemm_supports(device, problem).reason.code, "E_UNSUPPORTED_DTYPE");
  problem.dtype = Dtype::fp32;
  EXPECT_TRUE(cublaslt_gemm_supports(device, problem).ok);
}

TEST(CublasLtSupport, NamesTheRuleThatAnFp8ProblemBreaks) {
  DeviceInfo device;
  device.kind = DeviceKind::cuda;
  device.cc_major = 8;
  GemmProblem problem{.m = 64, .n = 64, .k = 64, .dtype = Dtype::fp8_e4m3};
  EXPECT_EQ(cublaslt_gemm_supports(device, problem).reason.code, "E_UNSUPPORTED_ARCH");
  device.cc_minor = 9;
  EXPECT_TRUE(cublaslt_gemm_supports(device, problem).ok);
  device.cc_major = 9;
  device.cc_minor = 0;
  EXPECT_TRUE(cublaslt_gemm_supports(device, problem).ok);
  problem.b_k_contiguous = false;
  const Reason layout = cublaslt_gemm_supports(device, problem).reason;
  EXPECT_EQ(layout.code, "E_UNSUPPORTED_SHAPE");
  EXPECT_NE(layout.message.find("layout=tn"), std::string::npos);
  problem.b_k_contiguous = true;
  problem.k = 72;
  const Reason multiple = cublaslt_gemm_supports(device, problem).reason;
  EXPECT_EQ(multiple.code, "E_UNSUPPORTED_SHAPE");
  EXPECT_NE(multiple.message.find("16"), std::string::npos);
  EXPECT_FALSE(cublaslt_gemm_supports(cpu_device_info(), problem).ok);
}
#endif

}  // namespace
}  // namespace gpubench
