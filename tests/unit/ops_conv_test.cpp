// SPDX-License-Identifier: Apache-2.0
// The host reference against the definition, the cpu provider against the host reference, planted
// faults, and what is refused.
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gpubench/error.h"
#include "ops/conv/job.h"
#include "ops/conv/providers.h"
#include "ops/conv/reference.h"
#include "tests/ops_fixture.h"

namespace gpubench {
namespace {

constexpr Dtype kTypes[] = {Dtype::fp32, Dtype::tf32, Dtype::fp16, Dtype::bf16};
constexpr ConvPass kPasses[] = {ConvPass::forward, ConvPass::dgrad, ConvPass::wgrad};
constexpr double kSampled = 0;  // full_check_flops of no problem: all are sampled

/// Odd sizes, strides that leave inputs unused, dilation, groups, filters larger than the image.
std::vector<ConvShape> shapes() {
  return {
      {.n = 3, .h = 9, .w = 7, .c = 5, .k = 6, .r = 3, .s = 3, .pad = 1},
      {.n = 2, .h = 11, .w = 13, .c = 3, .k = 70, .r = 7, .s = 5, .stride = 2, .pad = 3},
      {.n = 1, .h = 10, .w = 8, .c = 4, .k = 6, .r = 3, .s = 2, .pad = 2, .dilation = 2},
      {.n = 2, .h = 8, .w = 9, .c = 6, .k = 9, .r = 3, .s = 1, .stride = 3, .groups = 3},
      {.n = 2, .h = 6, .w = 5, .c = 130, .k = 67, .r = 1, .s = 1},
      {.n = 5, .h = 7, .w = 7, .c = 8, .k = 8, .r = 3, .s = 3, .pad = 1, .groups = 8},
      {.n = 1, .h = 2, .w = 3, .c = 2, .k = 2, .r = 4, .s = 5, .stride = 2, .pad = 2},
      {.n = 1, .h = 5, .w = 5, .c = 2, .k = 4, .r = 1, .s = 1, .stride = 3, .pad = 1, .groups = 2},
  };
}

std::string describe(const ConvProblem& problem) {
  const ConvShape& s = problem.shape;
  const char* passes[] = {"forward", "dgrad", "wgrad"};
  return std::string(passes[static_cast<int>(problem.pass)]) + " " +
         std::string(to_string(problem.dtype)) + " n" + std::to_string(s.n) + " c" +
         std::to_string(s.c) + " k" + std::to_string(s.k) + " " + std::to_string(s.r) + "x" +
         std::to_string(s.s) + "/" + std::to_string(s.stride) + " groups " +
         std::to_string(s.groups);
}

/// The host's reference of the problem, from operands filled as in a run.
class HostReference {
 public:
  explicit HostReference(const ConvProblem& problem)
      : problem_(problem), operands_(conv_operands(problem)) {
    bench_.conditions.cache = CacheMode::hot;
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      values_.emplace_back(operands_[i].count);
      fill_operand(*bench_.device, *bench_.stream, values_[i].data(), operands_[i],
                   DataDist::normal, 1, i);
      pointers_.push_back(values_[i].data());
    }
  }

  void compute() {
    Context context = bench_.context();
    float* out = values_.back().data();
    conv_verification(context, problem_, 1e15).reference(*bench_.stream, pointers_, {&out, 1});
  }

  Check sampled_check() {
    Context context = bench_.context();
    return conv_verification(context, problem_, kSampled).verify_set(*bench_.stream, pointers_);
  }

  std::vector<float>& operand(std::size_t index) { return values_[index]; }

 private:
  TestBench bench_{make_cpu_device()};
  ConvProblem problem_;
  std::vector<Operand> operands_;
  std::vector<std::vector<float>> values_;
  std::vector<void*> pointers_;
};

/// Calls visit(x, w, y) with the indices of every product that is no padding: all three passes are
/// sums over the same triples.
template <class Visit>
void for_each_product(const ConvShape& s, const Visit& visit) {
  for (std::int64_t n = 0; n < s.n; ++n)
    for (std::int64_t p = 0; p < s.p(); ++p)
      for (std::int64_t q = 0; q < s.q(); ++q)
        for (std::int64_t k = 0; k < s.k; ++k)
          for (std::int64_t r = 0; r < s.r; ++r)
            for (std::int64_t t = 0; t < s.s; ++t)
              for (std::int64_t c = 0; c < s.group_c(); ++c) {
                const std::int64_t h = p * s.stride + r * s.dilation - s.pad;
                const std::int64_t w = q * s.stride + t * s.dilation - s.pad;
                if (h < 0 || w < 0 || h >= s.h || w >= s.w) continue;
                const std::int64_t channel = k / s.group_k() * s.group_c() + c;
                visit(static_cast<std::size_t>(((n * s.h + h) * s.w + w) * s.c + channel),
                      static_cast<std::size_t>(((k * s.r + r) * s.s + t) * s.group_c() + c),
                      static_cast<std::size_t>(((n * s.p() + p) * s.q() + q) * s.k + k));
              }
}

TEST(ConvReferenceOnCpu, IsTheDefinition) {
  for (const ConvShape& shape : shapes()) {
    for (const ConvPass pass : kPasses) {
      const ConvProblem problem{.pass = pass, .dtype = Dtype::fp32, .shape = shape};
      HostReference host(problem);
      host.compute();
      std::vector<double> wanted(host.operand(2).size());
      const auto value = [&](std::size_t operand, std::size_t index) {
        return static_cast<double>(host.operand(operand)[index]);
      };
      for_each_product(shape, [&](std::size_t x, std::size_t w, std::size_t y) {
        if (pass == ConvPass::forward) wanted[y] += value(0, x) * value(1, w);
        if (pass == ConvPass::dgrad) wanted[x] += value(0, y) * value(1, w);
        if (pass == ConvPass::wgrad) wanted[w] += value(0, x) * value(1, y);
      });
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        ASSERT_NEAR(host.operand(2)[i], wanted[i], 1e-6 * std::fabs(wanted[i]) + 1e-9)
            << describe(problem) << " at " << i;
      }
    }
  }
}

TEST(ConvSampledCheck, SeesChannelsThatChangedPlacesAndOneWrongElement) {
  const ConvShape shape{.n = 2, .h = 9, .w = 9, .c = 70, .k = 75, .r = 3, .s = 3, .pad = 1};
  for (const ConvPass pass : kPasses) {
    const ConvProblem problem{.pass = pass, .dtype = Dtype::bf16, .shape = shape};
    HostReference host(problem);
    host.compute();
    ASSERT_TRUE(host.sampled_check().passed) << host.sampled_check().detail;
    std::vector<float>& out = host.operand(2);
    const std::vector<float> right = out;

    const ConvMatrix matrix = conv_matrix(pass, shape);
    const auto columns = static_cast<std::size_t>(matrix.columns);
    const auto rows = static_cast<std::size_t>(matrix.rows);
    if (pass == ConvPass::wgrad) {  // two filters, else two channels: all within one block
      std::swap_ranges(out.begin() + 5 * matrix.columns, out.begin() + 6 * matrix.columns,
                       out.begin() + 6 * matrix.columns);
    } else {
      for (std::size_t row = 0; row < rows; ++row) {
        std::swap(out[row * columns + 5], out[row * columns + 6]);
      }
    }
    EXPECT_FALSE(host.sampled_check().passed) << describe(problem);
    double squares = 0;
    for (const float value : right) squares += static_cast<double>(value * value);
    const auto rms = static_cast<float>(std::sqrt(squares / static_cast<double>(right.size())));
    for (const std::size_t at : {std::size_t{0}, right.size() / 3, right.size() - 1}) {
      for (const float wrong : {right[at] + 2 * rms, NAN, INFINITY}) {
        out = right;
        out[at] = wrong;
        EXPECT_FALSE(host.sampled_check().passed) << describe(problem) << " " << at << " " << wrong;
      }
    }
  }
}

class ConvOnCpu : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      bench.libraries.cblas();
    } catch (const Unsupported& missing) {
      GTEST_SKIP() << missing.what();
    }
    bench.conditions.cache = CacheMode::hot;
  }
  Check verify(const ConvProblem& problem, std::optional<double> full = std::nullopt) {
    Context context = bench.context();
    return make_conv_job(context, problem, "cpu", full)->verify(*bench.stream);
  }
  TestBench bench{make_cpu_device()};
};

TEST_F(ConvOnCpu, EveryPassTypeAndShapeIsRight) {
  for (const ConvShape& shape : shapes()) {
    for (const ConvPass pass : kPasses) {
      for (const Dtype dtype : kTypes) {
        const ConvProblem problem{.pass = pass, .dtype = dtype, .shape = shape};
        const Check full = verify(problem), sampled = verify(problem, kSampled);
        EXPECT_TRUE(full.passed) << describe(problem) << ": " << full.detail;
        EXPECT_TRUE(sampled.passed) << describe(problem) << ": " << sampled.detail;
        // Nothing but the rounding of the output: FP32 sums of exact products.
        EXPECT_LT(full.error, 1.01 * unit_roundoff(conv_output_dtype(dtype)) + 3e-6)
            << describe(problem);
      }
    }
  }
}

TEST_F(ConvOnCpu, EveryPlantedFaultIsFoundInFullAndSampledChecks) {
  for (const Fault fault : kAllFaults) {
    bench.conditions.fault = fault;
    for (const ConvPass pass : kPasses) {
      for (const Dtype dtype : kTypes) {
        ConvProblem problem{.pass = pass, .dtype = dtype, .shape = shapes()[0]};
        EXPECT_FALSE(verify(problem).passed)
            << describe(problem) << " fault " << static_cast<int>(fault);
        EXPECT_FALSE(verify(problem, kSampled).passed)
            << describe(problem) << " fault " << static_cast<int>(fault);
        // Equal sizes: the operands really change places.
        problem.shape = {.n = 4, .h = 1, .w = 1, .c = 65, .k = 65};
        if (pass != ConvPass::wgrad) problem.shape.n = 65;
        EXPECT_FALSE(verify(problem).passed)
            << describe(problem) << " fault " << static_cast<int>(fault);
        EXPECT_FALSE(verify(problem, kSampled).passed)
            << describe(problem) << " fault " << static_cast<int>(fault);
      }
    }
  }
}

TEST_F(ConvOnCpu, DataWithoutVarianceIsNoFalseAlarm) {
  for (const DataDist data : {DataDist::zeros, DataDist::ones, DataDist::uniform}) {
    bench.conditions.data = data;
    for (const ConvPass pass : kPasses) {
      const ConvProblem problem{.pass = pass, .shape = shapes()[1]};
      for (const std::optional<double> full : {std::optional<double>(), std::optional(kSampled)}) {
        const Check check = verify(problem, full);
        EXPECT_TRUE(check.passed) << describe(problem) << ": " << check.detail;
      }
    }
  }
}

TEST_F(ConvOnCpu, OutputsAreOfOrderOne) {
  for (const ConvPass pass : kPasses) {
    HostReference host(
        {.pass = pass,
         .dtype = Dtype::fp16,
         .shape = {.n = 8, .h = 14, .w = 14, .c = 32, .k = 32, .r = 3, .s = 3, .pad = 1}});
    host.compute();
    double squares = 0;
    for (const float value : host.operand(2)) squares += static_cast<double>(value * value);
    const double rms = std::sqrt(squares / static_cast<double>(host.operand(2).size()));
    EXPECT_NEAR(rms, 1, 0.2);
  }
}

TEST_F(ConvOnCpu, CheckSaysHowItWasDone) {
  const ConvProblem problem{.shape = shapes()[0]};
  EXPECT_EQ(verify(problem).reference, "double on the host, every element");
  EXPECT_NE(verify(problem, kSampled).reference.find("projection"), std::string::npos);
}

TEST_F(ConvOnCpu, InfoTellsEmulationAndTheWorkloadCounts) {
  const std::map<std::string, std::string> small{
      {"n", "2"}, {"h", "6"}, {"w", "5"}, {"c", "4"}, {"k", "8"}, {"groups", "2"}, {"pad", "0"}};
  const auto fp16 = bench.job("ops/conv", small);
  EXPECT_EQ(fp16->info().impl, "cpu");
  EXPECT_TRUE(fp16->info().emulated);
  EXPECT_EQ(fp16->info().peak_dtype, "");
  EXPECT_EQ(fp16->work().flops, 2.0 * 2 * 4 * 3 * 8 * 4 * 9 / 2);
  EXPECT_EQ(fp16->work().bytes, 2.0 * (2 * 6 * 5 * 4 + 8 * 9 * 2 + 2 * 4 * 3 * 8));
  std::map<std::string, std::string> full = small;
  full["dtype"] = "fp32";
  const auto fp32 = bench.job("ops/conv", full);
  EXPECT_FALSE(fp32->info().emulated);
  EXPECT_EQ(fp32->info().peak_dtype, "fp32");
}

TEST(ConvProblem, OperandsInTheirOrder) {
  const auto names = [](ConvPass pass) {
    std::string text;
    for (const Operand& operand : conv_operands({.pass = pass})) text += operand.name + " ";
    return text;
  };
  EXPECT_EQ(names(ConvPass::forward), "x w y ");
  EXPECT_EQ(names(ConvPass::dgrad), "dy w dx ");
  EXPECT_EQ(names(ConvPass::wgrad), "x dy dw ");
}

TEST(ConvProblem, OutputSizes) {
  constexpr ConvShape first{.h = 224, .w = 224, .r = 7, .s = 7, .stride = 2, .pad = 3};
  static_assert(first.p() == 112 && first.q() == 112);
  constexpr ConvShape dilated{.h = 9, .w = 5, .r = 3, .s = 3, .dilation = 2};
  static_assert(dilated.p() == 5 && dilated.q() == 1);
}

TEST(ConvTolerance, IsTightEnoughForEachType) {
  ConvProblem problem{
      .shape = {.n = 256, .h = 7, .w = 7, .c = 512, .k = 512, .r = 3, .s = 3, .pad = 1}};
  const auto tolerance = [&](Dtype dtype) {
    problem.dtype = dtype;
    return conv_tolerance(problem);
  };
  EXPECT_LT(tolerance(Dtype::fp32), 1e-4);  // TF32 rounding of the inputs would be 1e-3
  EXPECT_LT(tolerance(Dtype::tf32), 5e-3);
  EXPECT_LT(tolerance(Dtype::fp16), 1e-3);
  EXPECT_LT(tolerance(Dtype::bf16), 6e-3);
  problem.pass = ConvPass::wgrad;
  problem.shape.h = problem.shape.w = 56;  // 8e5 terms
  EXPECT_LT(tolerance(Dtype::fp16), 2e-2);
}

TEST(ConvWorkload, RefusesWhatHasNoOutputAndNamesTheParameter) {
  const WorkloadInfo& info = find_workload("ops/conv");
  const auto refusal = [&](const std::map<std::string, std::string>& given) -> std::string {
    try {
      info.footprint(cpu_device_info(), {}, Params::resolve(info.params, given));
    } catch (const ConfigError& refused) {
      return refused.what();
    }
    return "";
  };
  EXPECT_EQ(refusal({}), "");
  EXPECT_NE(refusal({{"r", "59"}}).find("r=59"), std::string::npos);
  EXPECT_EQ(refusal({{"r", "58"}}), "");
  EXPECT_NE(refusal({{"s", "3"}, {"dilation", "100"}}).find("dilation=100"), std::string::npos);
  EXPECT_NE(refusal({{"groups", "3"}}).find("groups=3 does not divide c=64"), std::string::npos);
  EXPECT_NE(refusal({{"groups", "2"}, {"k", "7"}}).find("k=7"), std::string::npos);
  EXPECT_NE(refusal({{"n", "1T"}, {"h", "1M"}}).find("n * h"), std::string::npos);
  EXPECT_NE(refusal({{"r", "1M"}, {"dilation", "1M"}}).find("r=1048576"), std::string::npos);
  EXPECT_NE(refusal({{"pad", "-1"}}).find("pad"), std::string::npos);
  EXPECT_NE(refusal({{"stride", "0"}}).find("stride"), std::string::npos);
  EXPECT_NE(refusal({{"pass", "backward"}}).find("pass"), std::string::npos);
  EXPECT_NE(refusal({{"dtype", "fp8"}}).find("dtype"), std::string::npos);
}

TEST(ConvProviders, ByDevice) {
  DeviceInfo device;
  const auto chosen = [&](std::string_view impl) {
    return std::string(select(conv_providers(), device, ConvProblem{}, impl).name);
  };
  EXPECT_EQ(chosen("auto"), "cpu");
#if GPUBENCH_HAS_CUDNN
  EXPECT_THROW(chosen("cudnn"), Unsupported);
  device.kind = DeviceKind::cuda;
  device.cc_major = 9;
  EXPECT_EQ(chosen("auto"), "cudnn");
  EXPECT_THROW(chosen("cpu"), Unsupported);
  device.cc_major = 7;
  EXPECT_THROW(chosen("auto"), Unsupported);
#endif
}

}  // namespace
}  // namespace gpubench
