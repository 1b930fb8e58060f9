// SPDX-License-Identifier: Apache-2.0
// What GEMM in FP64, INT8 and E5M2 and batches of GEMMs have of their own: exact and nearly exact
// checks, every matrix of a batch, and the rules of each provider.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpubench/error.h"
#include "ops/gemm/job.h"
#include "ops/gemm/providers.h"
#include "ops/gemm/reference.h"
#include "tests/ops_fixture.h"

namespace gpubench {
namespace {

constexpr double kSampled = 0, kFull = 1e15;  // full_check_flops: no product, every product

/// A set of operands whose C holds the reference itself, to be spoilt.
class SpoiltC : public ::testing::Test {
 protected:
  void make(const GemmProblem& problem) {
    problem_ = problem;
    sets_.emplace(context_, gemm_operands(problem));
    const GemmVerification checks = gemm_verification(context_, problem, kFull);
    const std::size_t count = sets_->operands().back().count;
    reference_.assign(count, 0.0);
    if (checks.wide_reference) {
      double* out = reference_.data();
      checks.wide_reference(*bench_.stream, operands(), {&out, 1});
    } else {
      std::vector<float> narrow(count);
      float* out = narrow.data();
      checks.reference(*bench_.stream, operands(), {&out, 1});
      std::copy(narrow.begin(), narrow.end(), reference_.begin());
    }
    for (std::size_t i = 0; i < count; ++i) set(i, reference_[i]);
  }

  std::span<void* const> operands() const { return sets_->set(0); }

  void set(std::size_t at, double value) {
    void* c = operands().back();
    switch (storage_dtype(DeviceKind::cpu, output_dtype(problem_.dtype))) {
      case Dtype::fp64:
        static_cast<double*>(c)[at] = value;
        break;
      case Dtype::int32:
        static_cast<std::int32_t*>(c)[at] = static_cast<std::int32_t>(value);
        break;
      default:
        static_cast<float*>(c)[at] = static_cast<float>(value);
    }
  }

  bool passes_in_full() {
    Operand output = sets_->operands().back();
    if (reference_dtype(output.dtype) == Dtype::fp64) {
      return compare_with_reference(*bench_.device, *bench_.stream, operands().back(), output,
                                    reference_.data())
          .passed;
    }
    const std::vector<float> narrow(reference_.begin(), reference_.end());
    return compare_with_reference(*bench_.device, *bench_.stream, operands().back(), output,
                                  narrow.data())
        .passed;
  }
  bool passes_sampled() {
    return gemm_verification(context_, problem_, kSampled)
        .verify_set(*bench_.stream, operands())
        .passed;
  }

  TestBench bench_{make_cpu_device()};
  Context context_ = bench_.context();
  GemmProblem problem_;
  std::optional<OperandSets> sets_;
  std::vector<double> reference_;
};

TEST_F(SpoiltC, EveryMatrixOfABatchIsChecked) {
  for (const Dtype dtype : {Dtype::fp64, Dtype::bf16, Dtype::int8}) {
    make({.m = 66, .n = 70, .k = 33, .batch = 4, .dtype = dtype});
    ASSERT_TRUE(passes_in_full() && passes_sampled()) << to_string(dtype);
    for (std::size_t batch = 0; batch < 4; ++batch) {
      const std::size_t at = batch * 66 * 70 + 17 * 70 + 5;
      const double right = reference_[at], rms = operand_scale(dtype) * operand_scale(dtype) * 6;
      set(at, right + 3 * std::ceil(rms));
      EXPECT_FALSE(passes_in_full()) << to_string(dtype) << batch;
      EXPECT_FALSE(passes_sampled()) << to_string(dtype) << batch;
      set(at, right);
    }
    // Two matrices that changed places.
    for (std::size_t i = 0; i < 66 * 70; ++i) set(i, reference_[i + 66 * 70]);
    for (std::size_t i = 0; i < 66 * 70; ++i) set(i + 66 * 70, reference_[i]);
    EXPECT_FALSE(passes_in_full()) << to_string(dtype);
    EXPECT_FALSE(passes_sampled()) << to_string(dtype);
  }
}

TEST_F(SpoiltC, OneInt8ProductOffByOneIsSeen) {
  make({.m = 130, .n = 200, .k = 1500, .dtype = Dtype::int8});
  ASSERT_TRUE(passes_in_full() && passes_sampled());
  for (const std::size_t at : {0u, 13333u, 25999u}) {
    for (const double off : {-1.0, 1.0}) {
      set(at, reference_[at] + off);
      EXPECT_FALSE(passes_in_full()) << at;
      EXPECT_FALSE(passes_sampled()) << at;
    }
    set(at, reference_[at]);
  }
}

TEST_F(SpoiltC, Fp64LostInTheTwelfthDigitIsSeen) {
  make({.m = 130, .n = 200, .k = 300, .dtype = Dtype::fp64});
  ASSERT_TRUE(passes_in_full() && passes_sampled());
  const double rms = std::sqrt(300.0);
  for (const std::size_t at : {0u, 13333u, 25999u}) {
    set(at, reference_[at] + 1e-11 * rms);
    EXPECT_FALSE(passes_in_full()) << at;
    EXPECT_FALSE(passes_sampled()) << at;
    set(at, reference_[at]);
  }
  for (std::size_t i = 0; i < reference_.size(); ++i) set(i, static_cast<float>(reference_[i]));
  EXPECT_FALSE(passes_in_full());
  EXPECT_FALSE(passes_sampled());
}

/// Operands cut to FP32, as a provider might that computes FP64 from smaller types.
TEST_F(SpoiltC, Fp64OperandsHaveDigitsThatFp32DropsAndTheCheckMissesThem) {
  make({.m = 65, .n = 64, .k = 64, .dtype = Dtype::fp64});
  const auto* a = static_cast<const double*>(operands()[0]);
  const auto* b = static_cast<const double*>(operands()[1]);
  std::size_t whole = 0;
  for (std::size_t i = 0; i < 65 * 64; ++i)
    whole += static_cast<double>(static_cast<float>(a[i])) == a[i];
  EXPECT_LT(whole, 5u);
  const auto product = [&](bool cut) {
    for (std::size_t row = 0; row < 65; ++row) {
      for (std::size_t column = 0; column < 64; ++column) {
        double sum = 0;
        for (std::size_t k = 0; k < 64; ++k) {
          const double left = a[row * 64 + k], right = b[column * 64 + k];
          sum += cut ? static_cast<double>(static_cast<float>(left)) * right : left * right;
        }
        set(row * 64 + column, sum);
      }
    }
  };
  product(false);
  EXPECT_TRUE(passes_in_full() && passes_sampled());
  product(true);
  EXPECT_FALSE(passes_in_full());
  EXPECT_FALSE(passes_sampled());
}

/// A sum in which double loses all digits and twice its precision none.
TEST(GemmWideReference, SumsFp64InTwiceItsPrecision) {
  TestBench bench(make_cpu_device());
  Context context = bench.context();
  const GemmProblem problem{.m = 1, .n = 1, .k = 3, .dtype = Dtype::fp64};
  std::vector<double> a{0x1p60, 1, -0x1p60}, b{1, 1, 1};
  const std::vector<void*> operands{a.data(), b.data(), nullptr};
  double out = 0;
  double* reference = &out;
  gemm_verification(context, problem, kFull)
      .wide_reference(*bench.stream, operands, {&reference, 1});
  EXPECT_EQ(out, 1);
}

TEST(GemmInt8, IsExactAtTheEndsOfTheRangeAndAcrossSlices) {
  TestBench bench(make_cpu_device());
  try {
    bench.libraries.cblas();
  } catch (const Unsupported& missing) {
    GTEST_SKIP() << missing.what();
  }
  Context context = bench.context();
  // -127 squared is odd: FP32 loses the last bit of a sum of more than 2^24 / 127^2 of them.
  for (const float value : {-128.f, -127.f}) {
    for (const std::int64_t k : {1, 1023, 1024, 1025, 2500}) {
      GemmProblem problem{.m = 3, .n = 5, .k = k, .batch = 2, .dtype = Dtype::int8};
      problem.a_k_contiguous = problem.b_k_contiguous = k % 2 == 0;
      const auto depth = static_cast<std::size_t>(k);
      std::vector<float> a(2 * 3 * depth, value), b(2 * depth * 5, value);
      b.back() = 127.f;  // of the last column of the second matrix
      std::vector<std::int32_t> c(2 * 3 * 5);
      const std::unique_ptr<Plan> plan = cpu_gemm_plan(context, problem);
      std::vector<float> workspace(plan->workspace_bytes() / sizeof(float));
      plan->run(*bench.stream, std::vector<void*>{a.data(), b.data(), c.data()}, workspace.data());
      const auto factor = static_cast<std::int64_t>(value);
      for (std::size_t i = 0; i < c.size(); ++i) {
        const bool last_column = i >= 3 * 5 && i % 5 == 4;
        const std::int64_t all = factor * factor * k;
        EXPECT_EQ(c[i], last_column ? all + factor * (127 - factor) : all) << k << " " << i;
      }
    }
  }
}

TEST(GemmInt8, PoisonIsBelowEverySum) {
  const std::int64_t lowest = kMostInt8Products * 127 * -128;
  const std::int64_t highest = kMostInt8Products * 128 * 128;
  std::int32_t poison = 0;
  std::memset(&poison, poison_byte(Dtype::int32), sizeof poison);
  EXPECT_LT(poison, lowest);
  EXPECT_LE(highest, std::numeric_limits<std::int32_t>::max());
}

TEST(GemmInt8, RefusesEpiloguesAndSumsThatInt32CanNotHold) {
  GemmProblem problem{.m = 8, .n = 8, .k = 8, .dtype = Dtype::int8};
  EXPECT_TRUE(cpu_gemm_supports(cpu_device_info(), problem).ok);
  problem.epilogue = Epilogue::bias;
  const Reason epilogue = cpu_gemm_supports(cpu_device_info(), problem).reason;
  EXPECT_EQ(epilogue.code, "E_UNSUPPORTED_DTYPE");
  EXPECT_NE(epilogue.message.find("epilogue=none"), std::string::npos);
  problem.epilogue = Epilogue::none;
  problem.k = kMostInt8Products + 1;
  EXPECT_EQ(cpu_gemm_supports(cpu_device_info(), problem).reason.code, "E_UNSUPPORTED_SHAPE");
  problem.k = kMostInt8Products;
  EXPECT_TRUE(cpu_gemm_supports(cpu_device_info(), problem).ok);
}

TEST(GemmOperands, E5m2IsAGradientTimesE4m3) {
  const auto operands = gemm_operands({.m = 4, .n = 5, .k = 6, .dtype = Dtype::fp8_e5m2});
  EXPECT_EQ(operands[0].dtype, Dtype::fp8_e5m2);
  EXPECT_EQ(operands[1].dtype, Dtype::fp8_e4m3);
  EXPECT_EQ(operands[2].dtype, Dtype::bf16);
}

TEST(GemmOperands, Int8FillsItsRangeWithoutSaturating) {
  TestBench bench(make_cpu_device());
  const Operand a = gemm_operands({.m = 512, .n = 16, .k = 512, .dtype = Dtype::int8})[0];
  std::vector<float> values(a.count);
  fill_operand(*bench.device, *bench.stream, values.data(), a, DataDist::normal, 1, 0);
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  EXPECT_LT(*least, -90.f);
  EXPECT_GT(*most, 90.f);
  EXPECT_EQ(std::count_if(values.begin(), values.end(),
                          [](float value) { return value > 127.f || value < -127.f; }),
            0);
}

TEST(GemmFootprint, GrowsWithTheBatch) {
  const auto bytes = [](std::int64_t batch, Dtype dtype) {
    Conditions conditions;
    conditions.cache = CacheMode::hot;
    return gemm_footprint(cpu_device_info(), conditions,
                          {.m = 64, .n = 64, .k = 64, .batch = batch, .dtype = dtype});
  };
  // Per matrix: A, B, C and the reference.
  EXPECT_EQ(bytes(8, Dtype::bf16) - bytes(4, Dtype::bf16), 4u * 64 * 64 * (4 + 4 + 4 + 4));
  EXPECT_EQ(bytes(8, Dtype::fp64) - bytes(4, Dtype::fp64), 4u * 64 * 64 * (8 + 8 + 8 + 8));
  EXPECT_EQ(bytes(8, Dtype::int8) - bytes(4, Dtype::int8), 4u * 64 * 64 * (4 + 4 + 4 + 8));
  EXPECT_THROW(bytes(std::numeric_limits<std::int64_t>::max(), Dtype::bf16), ConfigError);
}

/// A build without CUDA plans for GPUs, too.
TEST(GemmFootprint, OfALargeFp64ProductOnAGpuHasTheSampledChecksMemory) {
  DeviceInfo device;
  device.kind = DeviceKind::cuda;
  device.cc_major = 9;
  Conditions conditions;
  conditions.cache = CacheMode::hot;
  const auto bytes = [&](std::int64_t size, Dtype dtype) {
    return gemm_footprint(device, conditions, {.m = size, .n = size, .k = size, .dtype = dtype});
  };
  const std::uint64_t large = 8192ull * 8192 * 8, small = 1024ull * 1024 * 8;
  const std::uint64_t groups = 8192 / 64;
  EXPECT_EQ(bytes(8192, Dtype::fp64),
            3 * large + 8193 * groups * 8 + 2 * 8192 * groups * 8 + kMostGemmWorkspace);
  EXPECT_EQ(bytes(1024, Dtype::fp64), 3 * small + small + kMostGemmWorkspace)
      << "a reference in FP64";
  EXPECT_EQ(bytes(1024, Dtype::int8), 2 * small / 8 + small / 2 + small + kMostGemmWorkspace);
}

TEST(GemmWorkload, CountsTheBatchAndTheBytesOfEachType) {
  TestBench bench(make_cpu_device());
  try {
    bench.libraries.cblas();
  } catch (const Unsupported& missing) {
    GTEST_SKIP() << missing.what();
  }
  const auto work = [&](const std::string& dtype) {
    return bench
        .job("ops/gemm", {{"m", "16"}, {"n", "32"}, {"k", "8"}, {"batch", "3"}, {"dtype", dtype}})
        ->work();
  };
  for (const char* dtype : {"fp64", "int8", "fp8_e5m2"}) {
    EXPECT_EQ(work(dtype).flops, 3 * 2.0 * 16 * 32 * 8);
    EXPECT_EQ(work(dtype).flop_rule, "gemm:2mnk*batch");
  }
  EXPECT_EQ(work("fp64").bytes, 3.0 * 8 * (16 * 8 + 8 * 32 + 16 * 32));
  EXPECT_EQ(work("int8").bytes, 3.0 * (16 * 8 + 8 * 32 + 4 * 16 * 32));
  EXPECT_EQ(work("fp8_e5m2").bytes, 3.0 * (16 * 8 + 8 * 32 + 2 * 16 * 32));
  const auto info = [&](const std::string& dtype) {
    return bench.job("ops/gemm", {{"m", "16"}, {"n", "32"}, {"k", "8"}, {"dtype", dtype}})->info();
  };
  EXPECT_FALSE(info("fp64").emulated);
  EXPECT_EQ(info("fp64").compute_type, "fp64");
  EXPECT_EQ(info("fp64").peak_dtype, "fp64");
  EXPECT_TRUE(info("int8").emulated);
}

TEST(GemmPeak, Fp64IsHeldAgainstTensorCoresWhereThereAreAny) {
  DeviceInfo device;
  device.kind = DeviceKind::cuda;
  const auto key = [&](int major, int minor, Dtype dtype) {
    device.cc_major = major;
    device.cc_minor = minor;
    return gemm_peak_key(device, dtype);
  };
  EXPECT_EQ(key(8, 0, Dtype::fp64), "fp64_tensor");
  EXPECT_EQ(key(9, 0, Dtype::fp64), "fp64_tensor");
  EXPECT_EQ(key(10, 0, Dtype::fp64), "fp64_tensor");
  EXPECT_EQ(key(10, 3, Dtype::fp64), "fp64_tensor");
  EXPECT_EQ(key(7, 0, Dtype::fp64), "fp64");
  EXPECT_EQ(key(8, 6, Dtype::fp64), "fp64");
  EXPECT_EQ(key(8, 9, Dtype::fp64), "fp64");
  EXPECT_EQ(key(12, 0, Dtype::fp64), "fp64");
  EXPECT_EQ(key(9, 0, Dtype::int8), "int8");
  EXPECT_EQ(key(9, 0, Dtype::fp8_e5m2), "fp8");
  EXPECT_EQ(key(9, 0, Dtype::bf16), "bf16");
  EXPECT_EQ(gemm_peak_key(cpu_device_info(), Dtype::fp64), "fp64");
}

#if GPUBENCH_HAS_CUDA
TEST(CublasLtSupport, NamesTheRuleThatAnInt8ProblemBreaks) {
  DeviceInfo device;
  device.kind = DeviceKind::cuda;
  device.cc_major = 8;
  const GemmProblem good{.m = 63, .n = 64, .k = 36, .batch = 3, .dtype = Dtype::int8};
  EXPECT_TRUE(cublaslt_gemm_supports(device, good).ok) << "m is free";
  GemmProblem problem = good;
  problem.a_k_contiguous = false;
  const Reason layout = cublaslt_gemm_supports(device, problem).reason;
  EXPECT_EQ(layout.code, "E_UNSUPPORTED_SHAPE");
  EXPECT_NE(layout.message.find("layout=tn"), std::string::npos);
  problem = good;
  problem.n = 63;
  EXPECT_NE(cublaslt_gemm_supports(device, problem).reason.message.find("multiples of 4"),
            std::string::npos);
  problem = good;
  problem.k = 38;
  EXPECT_EQ(cublaslt_gemm_supports(device, problem).reason.code, "E_UNSUPPORTED_SHAPE");
  problem = good;
  problem.epilogue = Epilogue::bias_gelu;
  EXPECT_EQ(cublaslt_gemm_supports(device, problem).reason.code, "E_UNSUPPORTED_DTYPE");
}

TEST(CublasLtSupport, E5m2HasTheRulesOfFp8AndFp64NoneOfThem) {
  DeviceInfo device;
  device.kind = DeviceKind::cuda;
  device.cc_major = 8;
  GemmProblem problem{.m = 64, .n = 64, .k = 64, .dtype = Dtype::fp8_e5m2};
  EXPECT_EQ(cublaslt_gemm_supports(device, problem).reason.code, "E_UNSUPPORTED_ARCH");
  device.cc_major = 9;
  EXPECT_TRUE(cublaslt_gemm_supports(device, problem).ok);
  problem.b_k_contiguous = false;
  EXPECT_EQ(cublaslt_gemm_supports(device, problem).reason.code, "E_UNSUPPORTED_SHAPE");
  for (const bool a_k : {false, true}) {
    for (const bool b_k : {false, true}) {
      GemmProblem fp64{.m = 1, .n = 3, .k = 5, .batch = 7, .dtype = Dtype::fp64};
      fp64.a_k_contiguous = a_k;
      fp64.b_k_contiguous = b_k;
      EXPECT_TRUE(cublaslt_gemm_supports(device, fp64).ok);
    }
  }
  GemmProblem many{.m = 1, .n = 1, .k = 1, .batch = std::int64_t{1} << 31};
  EXPECT_EQ(cublaslt_gemm_supports(device, many).reason.code, "E_UNSUPPORTED_SHAPE");
}
#endif

}  // namespace
}  // namespace gpubench
