// SPDX-License-Identifier: Apache-2.0
// Epilogues with a matrix of their own: a second output, aux, and a third input, the residual.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/suite.h"
#include "gpubench/error.h"
#include "ops/gemm/epilogue.h"
#include "ops/gemm/providers.h"
#include "tests/gemm_plan_check.h"
#if GPUBENCH_HAS_CUDA
#include "ops/gemm/cuda/own_arguments.h"
#endif

namespace gpubench {
namespace {

constexpr Dtype kTypes[] = {Dtype::fp64, Dtype::fp32,     Dtype::tf32,    Dtype::fp16,
                            Dtype::bf16, Dtype::fp8_e4m3, Dtype::fp8_e5m2};
constexpr double kSampled = 0, kFull = 1e15;  // full_check_flops: no product, every product
constexpr std::int64_t kM = 67, kN = 131, kK = 45, kBatch = 3;

GemmProblem problem_with(Epilogue epilogue, Dtype dtype = Dtype::bf16) {
  return {.m = kM, .n = kN, .k = kK, .batch = kBatch, .dtype = dtype, .epilogue = epilogue};
}

/// Gets other pointers than those of the set, and has its results changed.
class ChangedPlan : public Plan {
 public:
  using Change = std::function<void(std::vector<void*>& operands)>;
  ChangedPlan(std::unique_ptr<Plan> plan, Change before, Change after)
      : plan_(std::move(plan)), before_(std::move(before)), after_(std::move(after)) {}
  std::size_t workspace_bytes() const override { return plan_->workspace_bytes(); }
  std::string algorithm() const override { return plan_->algorithm(); }
  void run(Stream& stream, std::span<void* const> operands, void* workspace) override {
    std::vector<void*> given(operands.begin(), operands.end());
    if (before_) before_(given);
    plan_->run(stream, given, workspace);
    given.assign(operands.begin(), operands.end());
    if (after_) after_(given);
  }

 private:
  std::unique_ptr<Plan> plan_;
  Change before_, after_;
};

class GemmEpilogueOnCpu : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      bench.libraries.cblas();
    } catch (const Unsupported& missing) {
      GTEST_SKIP() << missing.what();
    }
    bench.conditions.cache = CacheMode::hot;
  }
  std::unique_ptr<Plan> plan_of(const GemmProblem& problem) {
    Context context = bench.context();
    return cpu_gemm_plan(context, problem);
  }
  Check verify(const GemmProblem& problem, double full) {
    return verify_gemm_plan(bench, problem, plan_of(problem), full);
  }
  /// With a fault in the output of that place among the outputs.
  Check verify(const GemmProblem& problem, double full, Fault fault, std::size_t output) {
    auto plan = plant_fault(*bench.device, plan_of(problem), gemm_operands(problem), fault, output);
    return verify_gemm_plan(bench, problem, std::move(plan), full);
  }
  Check verify_changed(const GemmProblem& problem, double full, ChangedPlan::Change before,
                       ChangedPlan::Change after = {}) {
    return verify_gemm_plan(
        bench, problem,
        std::make_unique<ChangedPlan>(plan_of(problem), std::move(before), std::move(after)), full);
  }
  TestBench bench{make_cpu_device()};
};

TEST(GemmEpilogueNames, AreThoseOfTheWorkloadAndParse) {
  const std::vector<std::string> names = epilogue_names();
  ASSERT_EQ(names.size(), std::size(kAllEpilogues));
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(parse_epilogue(names[i]), kAllEpilogues[i]) << names[i];
  }
  EXPECT_THROW(parse_epilogue("bias_gelu_au"), ConfigError);
  const auto& params = find_workload("ops/gemm").params;
  const auto param = std::find_if(params.begin(), params.end(),
                                  [](const ParamSpec& spec) { return spec.name == "epilogue"; });
  ASSERT_NE(param, params.end());
  EXPECT_EQ(param->choices, names);
  EXPECT_EQ(param->default_value, "none") << "it is in no case's id";
}

TEST(GemmEpilogueOperands, ComeInOrderAndArePointedTo) {
  const char* wanted[][5] = {{"A", "B", "C"},
                             {"A", "B", "bias", "C"},
                             {"A", "B", "bias", "C"},
                             {"A", "B", "bias", "C", "aux"},
                             {"A", "B", "bias", "residual", "C"}};
  for (const Epilogue epilogue : kAllEpilogues) {
    const std::vector<Operand> operands = gemm_operands(problem_with(epilogue, Dtype::fp8_e4m3));
    std::array<int, 5> places{};
    std::vector<void*> pointers;
    for (std::size_t i = 0; i < operands.size(); ++i) pointers.push_back(&places[i]);
    const GemmPointers found = gemm_pointers(epilogue, pointers);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const std::string& name = operands[i].name;
      ASSERT_EQ(name, wanted[static_cast<std::size_t>(epilogue)][i]);
      const void* pointer = name == "A"          ? found.a
                            : name == "B"        ? found.b
                            : name == "bias"     ? found.bias
                            : name == "residual" ? found.residual
                            : name == "C"        ? found.c
                                                 : found.aux;
      EXPECT_EQ(pointer, pointers[i]) << name;
      const bool output = name == "C" || name == "aux";
      EXPECT_EQ(operands[i].role, output ? Role::output : Role::input) << name;
      if (i < 2) continue;
      EXPECT_EQ(operands[i].dtype, Dtype::bf16) << name;
      EXPECT_EQ(operands[i].count, static_cast<std::size_t>(name == "bias" ? kN : kBatch * kM * kN))
          << name;
      EXPECT_EQ(operands[i].tolerance > 0, output) << name;
    }
    EXPECT_EQ(found.bias != nullptr, has_bias(epilogue));
    EXPECT_EQ(found.residual != nullptr, has_residual(epilogue));
    EXPECT_EQ(found.aux != nullptr, has_aux(epilogue));
  }
}

TEST_F(GemmEpilogueOnCpu, EveryMatrixOfABatchIsRightInEveryLayout) {
  for (const Dtype dtype : kTypes) {
    for (const Epilogue epilogue : kAllEpilogues) {
      for (const int layout : {0, 1, 2, 3}) {
        GemmProblem problem = problem_with(epilogue, dtype);
        problem.a_k_contiguous = layout / 2 == 0;
        problem.b_k_contiguous = layout % 2 == 0;
        for (const double full : {kFull, kSampled}) {
          const Check check = verify(problem, full);
          EXPECT_TRUE(check.passed) << to_string(dtype) << layout << ": " << check.detail;
        }
      }
    }
  }
}

TEST_F(GemmEpilogueOnCpu, EveryFaultInEveryOutputIsFound) {
  for (const Dtype dtype : kTypes) {
    for (const Epilogue epilogue : {Epilogue::bias_gelu_aux, Epilogue::bias_residual}) {
      const GemmProblem problem = problem_with(epilogue, dtype);
      for (std::size_t output = 0; output < (has_aux(epilogue) ? 2 : 1); ++output) {
        for (const Fault fault : kAllFaults) {
          for (const double full : {kFull, kSampled}) {
            const Check check = verify(problem, full, fault, output);
            EXPECT_FALSE(check.passed) << to_string(dtype) << to_string(fault) << output;
            if (output == 1 && fault != Fault::swapped_operands) {
              EXPECT_NE(check.detail.find("aux: "), std::string::npos) << check.detail;
            }
          }
        }
      }
    }
  }
  EXPECT_THROW(verify(problem_with(Epilogue::bias_gelu), kFull, Fault::nan, 1), Error);
}

TEST_F(GemmEpilogueOnCpu, AnAuxThatIsNotWhatGoesIntoTheGeluIsFound) {
  const GemmProblem problem = problem_with(Epilogue::bias_gelu_aux);
  const auto size = static_cast<std::size_t>(kBatch * kM * kN);
  const auto floats = [](void* operand) { return static_cast<float*>(operand); };
  ASSERT_TRUE(verify_changed(problem, kFull, {}).passed);
  EXPECT_FALSE(verify_changed(problem, kFull, {},
                              [&](std::vector<void*>& all) {
                                std::copy_n(floats(all[3]), size, floats(all[4]));
                              })
                   .passed)
      << "what comes out of it";
  EXPECT_FALSE(verify_changed(problem, kFull, {},
                              [&](std::vector<void*>& all) {
                                for (std::size_t i = 0; i < size; ++i) {
                                  floats(all[4])[i] -=
                                      floats(all[2])[i % static_cast<std::size_t>(kN)];
                                }
                              })
                   .passed)
      << "without its bias";
  EXPECT_FALSE(verify_changed(problem, kFull, {},
                              [&](std::vector<void*>& all) {
                                std::swap_ranges(floats(all[4]), floats(all[4]) + kM * kN,
                                                 floats(all[4]) + kM * kN);
                              })
                   .passed)
      << "of another matrix of the batch";
  std::vector<float> elsewhere(size);
  const Check unwritten =
      verify_changed(problem, kFull, [&](std::vector<void*>& all) { all[4] = elsewhere.data(); });
  EXPECT_FALSE(unwritten.passed) << "not written at all";
  EXPECT_NE(unwritten.detail.find("aux: "), std::string::npos) << unwritten.detail;
}

TEST_F(GemmEpilogueOnCpu, AResidualLeftOutOrMisplacedIsFound) {
  const GemmProblem problem = problem_with(Epilogue::bias_residual);
  const auto size = static_cast<std::size_t>(kBatch * kM * kN);
  std::vector<float> other(size);
  const auto given_other = [&](std::vector<void*>& all) { all[3] = other.data(); };
  std::vector<float> right(size);
  const ChangedPlan::Change keep = [&](std::vector<void*>& all) {
    std::copy_n(static_cast<const float*>(all[3]), size, right.begin());
  };
  for (const double full : {kFull, kSampled}) {
    ASSERT_TRUE(verify_changed(problem, full, keep).passed);
    std::fill(other.begin(), other.end(), 0.f);
    EXPECT_FALSE(verify_changed(problem, full, given_other).passed) << "left out";
    std::rotate_copy(right.begin(), right.begin() + kM * kN, right.end(), other.begin());
    EXPECT_FALSE(verify_changed(problem, full, given_other).passed) << "the next matrix's";
    std::rotate_copy(right.begin(), right.begin() + kN, right.end(), other.begin());
    EXPECT_FALSE(verify_changed(problem, full, given_other).passed) << "the next row's";
    std::rotate_copy(right.begin(), right.begin() + 1, right.end(), other.begin());
    EXPECT_FALSE(verify_changed(problem, full, given_other).passed) << "the next column's";
    std::copy(right.begin(), right.end(), other.begin());
    EXPECT_TRUE(verify_changed(problem, full, given_other).passed);
    other[size / 2] += 64;  // five times the results' root mean square
    EXPECT_FALSE(verify_changed(problem, full, given_other).passed) << "one element";
  }
}

/// The references, against loops written from the definition.
template <class Real>
void compare_with_the_definition(Dtype dtype, double tolerance) {
  TestBench bench(make_cpu_device());
  bench.conditions.cache = CacheMode::hot;
  Context context = bench.context();
  for (const Epilogue epilogue : {Epilogue::bias_gelu_aux, Epilogue::bias_residual}) {
    const GemmProblem problem{
        .m = 5, .n = 7, .k = 3, .batch = 2, .dtype = dtype, .epilogue = epilogue};
    const OperandSets sets(context, gemm_operands(problem));
    const GemmPointers at = gemm_pointers(epilogue, sets.set(0));
    std::vector<Real> out(2 * 5 * 7), aux(out.size());
    Real* references[] = {out.data(), aux.data()};
    const std::span<Real* const> given(references, has_aux(epilogue) ? 2 : 1);
    const GemmVerification checks = gemm_verification(context, problem, kFull);
    if constexpr (sizeof(Real) == sizeof(double)) {
      checks.wide_reference(*bench.stream, sets.set(0), given);
    } else {
      checks.reference(*bench.stream, sets.set(0), given);
    }
    const auto value = [](const void* operand, std::size_t i) {
      return static_cast<long double>(static_cast<const Real*>(operand)[i]);
    };
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::size_t matrix = i / 35, row = i / 7 % 5, column = i % 7;
      long double sum = value(at.bias, column);
      for (std::size_t k = 0; k < 3; ++k) {
        sum += value(at.a, (matrix * 5 + row) * 3 + k) * value(at.b, (matrix * 7 + column) * 3 + k);
      }
      if (at.residual != nullptr) sum += value(at.residual, i);
      const long double wanted = has_gelu(epilogue) ? gelu_tanh(sum) : sum;
      EXPECT_NEAR(static_cast<double>(out[i]), static_cast<double>(wanted), tolerance) << i;
      if (has_aux(epilogue)) {
        EXPECT_NEAR(static_cast<double>(aux[i]), static_cast<double>(sum), tolerance) << i;
      }
    }
  }
}

TEST(GemmEpilogueReference, MatchesTheDefinition) {
  compare_with_the_definition<float>(Dtype::fp32, 1e-6);
  compare_with_the_definition<double>(Dtype::fp64, 2e-15);
}

TEST_F(GemmEpilogueOnCpu, AGeluIsAlwaysCheckedInFullAndAResidualIsNot) {
  EXPECT_TRUE(gemm_checks_every_element(problem_with(Epilogue::bias_gelu_aux), kSampled));
  EXPECT_FALSE(gemm_checks_every_element(problem_with(Epilogue::bias_residual), kSampled));
}

TEST_F(GemmEpilogueOnCpu, TheWorkloadCountsTheMatrixThatIsReadOrWrittenBesides) {
  const auto bytes = [&](const std::string& epilogue, const std::string& dtype) {
    return bench
        .job("ops/gemm", {{"m", "16"},
                          {"n", "32"},
                          {"k", "8"},
                          {"batch", "3"},
                          {"dtype", dtype},
                          {"epilogue", epilogue}})
        ->work()
        .bytes;
  };
  for (const auto& [dtype, in, out] :
       {std::tuple{"bf16", 2.0, 2.0}, std::tuple{"fp8", 1.0, 2.0}, std::tuple{"fp64", 8.0, 8.0}}) {
    const double operands = 3 * (16 * 8 + 8 * 32) * in, matrix = 3 * 16 * 32 * out, bias = 32 * out;
    EXPECT_EQ(bytes("none", dtype), operands + matrix) << dtype;
    EXPECT_EQ(bytes("bias", dtype), operands + matrix + bias) << dtype;
    EXPECT_EQ(bytes("bias_gelu", dtype), operands + matrix + bias) << dtype;
    EXPECT_EQ(bytes("bias_gelu_aux", dtype), operands + 2 * matrix + bias) << dtype;
    EXPECT_EQ(bytes("bias_residual", dtype), operands + 2 * matrix + bias) << dtype;
  }
}

TEST(GemmEpilogueFootprint, HasAReferenceForEachOutput) {
  Conditions conditions;
  conditions.cache = CacheMode::hot;
  const auto bytes = [&](Epilogue epilogue) {
    return gemm_footprint(cpu_device_info(), conditions,
                          {.m = 64, .n = 64, .k = 64, .epilogue = epilogue});
  };
  constexpr std::uint64_t kMatrix = 64 * 64 * 4;
  EXPECT_EQ(bytes(Epilogue::bias_residual), bytes(Epilogue::bias) + kMatrix);
  EXPECT_EQ(bytes(Epilogue::bias_gelu_aux), bytes(Epilogue::bias_gelu) + 2 * kMatrix);
}

TEST(GemmEpilogueInt8, HasNone) {
  for (const Epilogue epilogue : kAllEpilogues) {
    const Support support = gemm_support(problem_with(epilogue, Dtype::int8));
    EXPECT_EQ(support.ok, epilogue == Epilogue::none);
  }
}

#if GPUBENCH_HAS_CUDA
TEST(CublasLtSupport, TakesTheNewEpiloguesWhereItHasThem) {
  DeviceInfo device;
  device.kind = DeviceKind::cuda;
  device.cc_major = 9;
  GemmProblem problem{.m = 63, .n = 64, .k = 64, .epilogue = Epilogue::bias_gelu_aux};
  EXPECT_TRUE(cublaslt_gemm_supports(device, problem).ok) << "m is free";
  problem.n = 63;
  const Reason reason = cublaslt_gemm_supports(device, problem).reason;
  EXPECT_EQ(reason.code, "E_UNSUPPORTED_SHAPE");
  EXPECT_NE(reason.message.find("multiple of 8; got 63"), std::string::npos) << reason.message;
  problem.epilogue = Epilogue::bias_residual;
  EXPECT_TRUE(cublaslt_gemm_supports(device, problem).ok);
  problem.dtype = Dtype::fp64;
  EXPECT_TRUE(cublaslt_gemm_supports(device, problem).ok);
  problem.n = 64;
  problem.epilogue = Epilogue::bias_gelu_aux;
  EXPECT_EQ(cublaslt_gemm_supports(device, problem).reason.code, "E_UNSUPPORTED_DTYPE");
}

TEST(OwnGemmArguments, HaveEveryPointerOfTheEpilogue) {
  constexpr GemmEpilogue kOwn[] = {GemmEpilogue::none, GemmEpilogue::bias, GemmEpilogue::bias_gelu,
                                   GemmEpilogue::bias_gelu_aux, GemmEpilogue::bias_residual};
  for (std::size_t i = 0; i < std::size(kAllEpilogues); ++i) {
    GemmArguments arguments = own_gemm_arguments(problem_with(kAllEpilogues[i]));
    EXPECT_EQ(arguments.epilogue, kOwn[i]);
    std::array<int, 7> places{};
    arguments = with_operands(arguments,
                              {.a = &places[0],
                               .b = &places[1],
                               .bias = &places[2],
                               .residual = &places[3],
                               .c = &places[4],
                               .aux = &places[5]},
                              &places[6]);
    EXPECT_EQ(arguments.a, &places[0]);
    EXPECT_EQ(arguments.b, &places[1]);
    EXPECT_EQ(arguments.bias, &places[2]);
    EXPECT_EQ(arguments.residual, &places[3]);
    EXPECT_EQ(arguments.c, &places[4]);
    EXPECT_EQ(arguments.aux, &places[5]);
    EXPECT_EQ(arguments.workspace, &places[6]);
  }
}
#endif

}  // namespace
}  // namespace gpubench
