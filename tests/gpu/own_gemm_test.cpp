// SPDX-License-Identifier: Apache-2.0
// Our own wgmma kernels: every type, layout, epilogue and configuration against double.
#include "core/suite.h"
#include "gpubench/error.h"
#include "tests/gemm_plan_check.h"
#include "tests/gpu/own_gemm_fixture.h"

namespace gpubench {
namespace {

struct Sizes {
  std::int64_t m, n, k;
};

class OwnGemmOnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    const CudaState state = cuda_state();
    if (state.kind != CudaState::Kind::ok) GTEST_SKIP() << state.message;
    gpu = std::make_unique<TestBench>(make_cuda_device(0));
    gpu->conditions.cache = CacheMode::hot;
    const DeviceInfo& info = gpu->device->info();
    if (info.cc_major != 9 || info.cc_minor != 0) GTEST_SKIP() << "needs sm_90";
  }

  static bool exists(const GemmArguments& arguments) { return sm90a_refusal(arguments).empty(); }

  /// Calls function(arguments) for every type, accumulation, layout and epilogue that there is.
  template <class Function>
  static void for_each_kind(const Sizes& sizes, Function&& function) {
    for (const GemmType type : kOwnTypes) {
      const bool fp8 = type == GemmType::fp8_e4m3 || type == GemmType::fp8_e5m2;
      for (const bool promote : {false, true}) {
        if (promote && !fp8) continue;
        for (const int layout : {0, 1, 2, 3}) {
          for (const GemmEpilogue epilogue : kOwnEpilogues) {
            GemmArguments arguments;
            arguments.type = type;
            arguments.promote = promote;
            arguments.a_k_contiguous = layout / 2 == 0;
            arguments.b_k_contiguous = layout % 2 == 0;
            arguments.epilogue = epilogue;
            arguments.m = sizes.m;
            arguments.n = sizes.n;
            arguments.k = sizes.k;
            if (exists(arguments)) function(arguments);
          }
        }
      }
    }
  }

  /// Runs all of `configs` and compares.
  static void check(OwnProduct& product, const std::vector<GemmConfig>& configs) {
    const std::vector<double> sums = product.sums(), wanted = product.finished(sums);
    const bool aux = product.arguments.epilogue == GemmEpilogue::bias_gelu_aux;
    const bool every = aux || product.arguments.epilogue == GemmEpilogue::none;
    for (const GemmConfig& config : configs) {
      // A stagger changes nothing in the epilogue: with two of them it is seen enough.
      if (!every && config.name.find("stagger") != std::string::npos) continue;
      const std::string what = describe(product.arguments) + ", " + config.name;
      product.run(config);
      EXPECT_LE(product.error(product.c.values(), wanted), product.tolerance()) << what;
      EXPECT_TRUE(product.c.guards_hold()) << what;
      if (aux) {
        EXPECT_TRUE(product.aux.guards_hold()) << what;
        EXPECT_LE(product.error(product.aux.values(), sums), product.tolerance()) << what;
      }
      if (::testing::Test::HasFailure()) return;  // one is enough to read
    }
  }

  std::unique_ptr<TestBench> gpu;
};

/// The first to look at when anything is wrong: one tile, one stage, one instruction kind each.
TEST_F(OwnGemmOnGpu, OneTileOfEveryTypeAndLayout) {
  for_each_kind({64, 64, 64}, [&](const GemmArguments& arguments) {
    if (arguments.epilogue != GemmEpilogue::none) return;
    OwnProduct product(*gpu, arguments);
    check(product, sm90a_configs(product.arguments));
  });
}

/// Ragged in m, n and k, several tiles in both directions, aligned rows.
TEST_F(OwnGemmOnGpu, EveryConfigurationIsRight) {
  for_each_kind({328, 528, 1104}, [&](const GemmArguments& arguments) {
    OwnProduct product(*gpu, arguments);
    check(product, sm90a_configs(product.arguments));
  });
}

/// More tiles than multiprocessors, so that blocks stay for a second one and stages wrap around.
TEST_F(OwnGemmOnGpu, BlocksThatTakeSeveralTilesAreRight) {
  for_each_kind({2328, 2832, 336}, [&](const GemmArguments& arguments) {
    const bool plain = arguments.epilogue == GemmEpilogue::none;
    const bool first = arguments.a_k_contiguous && arguments.b_k_contiguous;
    // The epilogue's code depends on the type of C alone.
    const bool typical = arguments.type == GemmType::bf16 || arguments.type == GemmType::tf32;
    if (!plain && !(first && typical)) return;
    OwnProduct product(*gpu, arguments);
    check(product, sm90a_configs(product.arguments));
  });
}

TEST_F(OwnGemmOnGpu, OddSizesAreRight) {
  const Sizes sizes[] = {{1, 1, 1},     {8, 8, 8},    {127, 129, 65}, {1000, 3000, 500},
                         {1, 513, 129}, {513, 1, 77}, {64, 200, 1},   {63, 65, 4095}};
  for (const Sizes& size : sizes) {
    for_each_kind(size, [&](const GemmArguments& arguments) {
      OwnProduct product(*gpu, arguments);
      std::vector<GemmConfig> configs = sm90a_configs(product.arguments);
      const bool small = size.m * size.n * size.k < 1'000'000;
      configs.resize(std::min<std::size_t>(configs.size(), small ? 100 : 2));
      check(product, configs);
    });
  }
}

/// Matrices that begin between multiples of 16 bytes, though their rows are long enough.
TEST_F(OwnGemmOnGpu, UnalignedPointersAreRight) {
  for_each_kind({200, 144, 272}, [&](const GemmArguments& arguments) {
    OwnProduct product(*gpu, arguments, 4);
    check(product, sm90a_configs(product.arguments));
  });
}

/// A race shows as bits that change, and a split k adds its parts in order.
TEST_F(OwnGemmOnGpu, EveryConfigurationGivesTheSameBitsAgain) {
  constexpr int kTimes = 3, kInARow = 20;
  for_each_kind({776, 1040, 2064}, [&](const GemmArguments& arguments) {
    const bool chosen = arguments.epilogue == GemmEpilogue::bias_gelu_aux ||
                        arguments.epilogue == GemmEpilogue::bias_residual ||
                        arguments.type == GemmType::int8;
    if (!chosen || !arguments.a_k_contiguous) return;
    OwnProduct product(*gpu, arguments);
    for (const GemmConfig& config : sm90a_configs(product.arguments)) {
      product.run(config);
      const std::vector<std::uint8_t> once = product.c.raw();
      for (int i = 0; i < kTimes; ++i) {
        product.run(config, kInARow);
        ASSERT_EQ(product.c.raw(), once) << describe(product.arguments) << ", " << config.name;
      }
    }
  });
}

/// Short cases are measured as graphs; launches in one may begin before the one before has ended.
TEST_F(OwnGemmOnGpu, LaunchesInAGraphAreRight) {
  GemmArguments arguments;
  arguments.m = 520;
  arguments.n = 1031;  // B's rows are copied first
  arguments.k = 2048;
  arguments.b_k_contiguous = false;
  arguments.epilogue = GemmEpilogue::bias;
  OwnProduct product(*gpu, arguments);
  const std::vector<double> wanted = product.finished(product.sums());
  for (const GemmConfig& config : sm90a_configs(product.arguments)) {
    product.run(config);  // loads the kernels, which a capture may not
    const Buffer workspace(*gpu->device, config.workspace_bytes + 256);
    GemmArguments with = product.arguments;
    with.workspace = workspace.data();
    const auto graph = gpu->device->capture(*gpu->stream, [&] {
      for (int i = 0; i < 5; ++i) launch_gemm_sm90a(gpu->stream->native(), with, config);
    });
    ASSERT_NE(graph, nullptr);
    product.c.poison();
    for (int i = 0; i < 3; ++i) graph->launch(*gpu->stream);
    gpu->stream->synchronize();
    EXPECT_LE(product.error(product.c.values(), wanted), product.tolerance()) << config.name;
  }
}

/// NaN and infinities come out where double has them, and nowhere else.
TEST_F(OwnGemmOnGpu, NanAndInfinityGoThrough) {
  for_each_kind({136, 272, 160}, [&](const GemmArguments& arguments) {
    if (arguments.type == GemmType::int8) return;
    OwnProduct product(*gpu, arguments);
    const auto put = [](Guarded& matrix, std::int64_t index, float value) {
      matrix.set(static_cast<std::size_t>(index), encode(matrix.dtype, value));
    };
    const auto a_at = [&](std::int64_t m, std::int64_t k) {
      return arguments.a_k_contiguous ? m * arguments.k + k : k * arguments.m + m;
    };
    const auto b_at = [&](std::int64_t k, std::int64_t n) {
      return arguments.b_k_contiguous ? n * arguments.k + k : k * arguments.n + n;
    };
    put(product.a, a_at(3, 5), NAN);
    put(product.b, b_at(100, 200), NAN);
    // E4M3 has no infinity and encode() saturates: what is large enough is an infinity by its bits.
    if (product.a.dtype == Dtype::fp8_e5m2) {
      product.a.set(static_cast<std::size_t>(a_at(70, 33)), 0x7c);
    } else if (product.a.dtype != Dtype::fp8_e4m3) {
      put(product.a, a_at(70, 33), INFINITY);
      put(product.b, b_at(64, 9), -INFINITY);
    }
    const std::vector<double> wanted = product.finished(product.sums());
    for (const GemmConfig& config : sm90a_configs(product.arguments)) {
      product.run(config);
      const std::vector<double> out = product.c.values();
      std::size_t special = 0;
      for (std::size_t i = 0; i < out.size(); ++i) {
        const std::string what = describe(product.arguments) + ", " + config.name + ", row " +
                                 std::to_string(i / 272) + " column " + std::to_string(i % 272);
        ASSERT_EQ(std::isnan(out[i]), std::isnan(wanted[i])) << what;
        ASSERT_EQ(std::isinf(out[i]), std::isinf(wanted[i])) << what;
        if (std::isinf(out[i])) {
          ASSERT_EQ(out[i], wanted[i]) << what;
        }
        if (!std::isfinite(out[i])) ++special;
      }
      EXPECT_GE(special, 136u);
    }
  });
}

/// A result that never was compared, or an error of zero in every type, would pass all of the
/// above.
TEST_F(OwnGemmOnGpu, TheComparisonSeesOneWrongElement) {
  GemmArguments arguments;
  arguments.m = arguments.n = arguments.k = 256;
  OwnProduct product(*gpu, arguments);
  const std::vector<double> wanted = product.finished(product.sums());
  product.run(sm90a_configs(product.arguments).front());
  std::vector<double> out = product.c.values();
  const double error = product.error(out, wanted);
  EXPECT_GT(error, 0);
  EXPECT_LE(error, product.tolerance());
  out[12345] += 1;
  EXPECT_GT(product.error(out, wanted), product.tolerance());
  out[12345] = NAN;
  EXPECT_GT(product.error(out, wanted), product.tolerance());
}

class OwnGemmJob : public OwnGemmOnGpu {
 protected:
  Check verify(const GemmProblem& problem, std::optional<double> full = std::nullopt) {
    Context context = gpu->context();
    return make_gemm_job(context, problem, "own_sm90a", full)->verify(*gpu->stream);
  }
  static constexpr Dtype kTypes[] = {Dtype::tf32,     Dtype::fp16,     Dtype::bf16,
                                     Dtype::fp8_e4m3, Dtype::fp8_e5m2, Dtype::int8};
};

TEST_F(OwnGemmJob, IsRightInFullAndSampledChecks) {
  for (const Dtype dtype : kTypes) {
    for (const Epilogue epilogue : kAllEpilogues) {
      const GemmProblem problem{.m = 320, .n = 528, .k = 272, .dtype = dtype, .epilogue = epilogue};
      if (!gemm_support(problem).ok) continue;  // INT8 has no epilogue
      const Check full = verify(problem), sampled = verify(problem, 0);
      EXPECT_TRUE(full.passed) << to_string(dtype) << ": " << full.detail;
      EXPECT_TRUE(sampled.passed) << to_string(dtype) << ": " << sampled.detail;
    }
  }
}

TEST_F(OwnGemmJob, EveryPlantedFaultIsFound) {
  for (const Dtype dtype : kTypes) {
    for (const Fault fault : kAllFaults) {
      gpu->conditions.fault = fault;
      for (const std::int64_t n : {256, 384}) {  // equal and unequal operand sizes
        const GemmProblem problem{.m = 256, .n = n, .k = 512, .dtype = dtype};
        EXPECT_FALSE(verify(problem).passed) << to_string(dtype) << to_string(fault) << n;
        EXPECT_FALSE(verify(problem, 0).passed) << to_string(dtype) << to_string(fault) << n;
      }
    }
  }
}

TEST_F(OwnGemmJob, PromotionIsNoLessExact) {
  GemmProblem problem{.m = 512, .n = 512, .k = 8192, .dtype = Dtype::fp8_e4m3};
  const Check fast = verify(problem);
  problem.fast_accum = false;
  const Check promoted = verify(problem);
  EXPECT_TRUE(fast.passed) << fast.error << " " << fast.detail;
  EXPECT_TRUE(promoted.passed) << promoted.error << " " << promoted.detail;
  EXPECT_LE(promoted.error, fast.error);
}

TEST_F(OwnGemmJob, TuningNamesTheConfigurationItChose) {
  Context context = gpu->context();
  const GemmProblem problem{.m = 1024, .n = 1024, .k = 1024, .tune = true};
  const auto job = make_gemm_job(context, problem, "own_sm90a");
  EXPECT_EQ(job->info().impl, "own_sm90a");
  EXPECT_NE(job->info().algorithm.find("stages"), std::string::npos) << job->info().algorithm;
  EXPECT_NE(job->info().algorithm.find("tuned of"), std::string::npos) << job->info().algorithm;
  EXPECT_TRUE(job->verify(*gpu->stream).passed);
}

TEST_F(OwnGemmJob, AutoStillTakesTheLibrary) {
  Context context = gpu->context();
  try {
    gpu->libraries.cublaslt();
  } catch (const Unsupported& missing) {
    GTEST_SKIP() << missing.what();
  }
  EXPECT_EQ(make_gemm_job(context, {.m = 256, .n = 256, .k = 256}, "auto")->info().impl,
            "cublaslt");
}

}  // namespace
}  // namespace gpubench
