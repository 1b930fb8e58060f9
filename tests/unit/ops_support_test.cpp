// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <set>
#include <stdexcept>
#include <vector>

#include "core/suite.h"
#include "gpubench/error.h"
#include "kernels/common/random.h"
#include "ops/support/op_job.h"
#include "ops/support/parallel.h"
#include "tests/ops_fixture.h"

namespace gpubench {
namespace {

constexpr Dtype kStored[] = {Dtype::fp32, Dtype::tf32,     Dtype::fp16,
                             Dtype::bf16, Dtype::fp8_e4m3, Dtype::fp8_e5m2};

TEST(Random, PhiloxGivesItsPublishedAnswers) {  // Random123, kat_vectors
  const auto words = [](std::uint64_t seed, std::uint64_t stream, std::uint64_t block) {
    const random::Words out = random::philox(seed, stream, block);
    return std::vector<std::uint32_t>(out.v, out.v + 4);
  };
  EXPECT_EQ(words(0, 0, 0),
            (std::vector<std::uint32_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(words(~0ull, ~0ull, ~0ull),
            (std::vector<std::uint32_t>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(words(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88),
            (std::vector<std::uint32_t>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, UnitExcludesBothEnds) {
  EXPECT_GT(random::unit(0), 0.f);
  EXPECT_LT(random::unit(~0u), 1.f);
  const random::Floats far = random::normal({{0, 0, 0, 0}});
  EXPECT_LE(std::fabs(far.v[0]), random::kNormalLimit);
  EXPECT_GT(std::fabs(far.v[0]), 5.7);
}

class OnCpu : public ::testing::Test {
 protected:
  std::vector<float> filled(const Operand& operand, DataDist data, std::uint64_t seed,
                            std::size_t index) {
    std::vector<float> values(operand.count, -7.f);
    fill_operand(*bench.device, *bench.stream, values.data(), operand, data, seed, index);
    return values;
  }
  TestBench bench{make_cpu_device()};
};

double mean(const std::vector<float>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double mean_square(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * static_cast<double>(value);
  return sum / static_cast<double>(values.size());
}

TEST_F(OnCpu, NormalDataHasItsMomentsAndScale) {
  const auto values = filled({.count = 200001, .scale = 3}, DataDist::normal, 1, 0);
  EXPECT_NEAR(mean(values), 0, 0.03);
  EXPECT_NEAR(mean_square(values), 9, 0.2);
}

TEST_F(OnCpu, UniformDataStaysInItsRange) {
  const auto values = filled({.count = 100003, .scale = 2}, DataDist::uniform, 1, 0);
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  EXPECT_GT(*low, -2.f);
  EXPECT_LT(*high, 2.f);
  EXPECT_LT(*low, -1.99f);
  EXPECT_GT(*high, 1.99f);
  EXPECT_NEAR(mean_square(values), 4.0 / 3, 0.02);
}

TEST_F(OnCpu, OnesAreTheScaleAndZerosZero) {
  EXPECT_EQ(filled({.count = 5, .scale = 64}, DataDist::ones, 1, 0), std::vector<float>(5, 64.f));
  EXPECT_EQ(filled({.count = 5, .scale = 64}, DataDist::zeros, 1, 0), std::vector<float>(5, 0.f));
}

TEST_F(OnCpu, SeedsAndOperandsDrawDifferentNumbersAndRepeat) {
  const Operand operand{.count = 1000};
  const auto first = filled(operand, DataDist::normal, 1, 0);
  EXPECT_EQ(first, filled(operand, DataDist::normal, 1, 0));
  EXPECT_NE(first, filled(operand, DataDist::normal, 2, 0));
  EXPECT_NE(first, filled(operand, DataDist::normal, 1, 1));
}

TEST_F(OnCpu, ALongerFillBeginsLikeAShorterOne) {
  const auto longer = filled({.count = 100000}, DataDist::normal, 1, 0);
  const auto shorter = filled({.count = 77}, DataDist::normal, 1, 0);
  EXPECT_TRUE(std::equal(shorter.begin(), shorter.end(), longer.begin()));
}

TEST_F(OnCpu, ValuesAreRoundedToTheirType) {
  for (const Dtype dtype : kStored) {
    for (const float value : filled({.dtype = dtype, .count = 999}, DataDist::normal, 1, 0)) {
      ASSERT_EQ(value, round_to(dtype, value)) << to_string(dtype);
    }
  }
}

TEST_F(OnCpu, Fp64DataAreTheFp32DataWithLowBits) {
  const Operand narrow{.count = 1003, .scale = 1.5};
  Operand wide = narrow;
  wide.dtype = Dtype::fp64;
  for (const DataDist data :
       {DataDist::normal, DataDist::uniform, DataDist::ones, DataDist::zeros}) {
    const std::vector<float> near = filled(narrow, data, 3, 2);
    std::vector<double> values(wide.count);
    fill_operand(*bench.device, *bench.stream, values.data(), wide, data, 3, 2);
    std::size_t exact = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_NEAR(values[i], near[i], 0x1p-22 * std::fabs(static_cast<double>(near[i]))) << i;
      exact += static_cast<double>(static_cast<float>(values[i])) == values[i];
    }
    const bool random = data == DataDist::normal || data == DataDist::uniform;
    EXPECT_EQ(exact, random ? 0 : values.size());
  }
}

TEST(Operands, Fp64AndInt32KeepTheirTypeAndAreComparedInFp64) {
  for (const DeviceKind kind : {DeviceKind::cpu, DeviceKind::cuda}) {
    EXPECT_EQ(storage_dtype(kind, Dtype::fp64), Dtype::fp64);
    EXPECT_EQ(storage_dtype(kind, Dtype::int32), Dtype::int32);
  }
  EXPECT_EQ(storage_dtype(DeviceKind::cpu, Dtype::int8), Dtype::fp32);
  EXPECT_EQ(reference_dtype(Dtype::fp64), Dtype::fp64);
  EXPECT_EQ(reference_dtype(Dtype::int32), Dtype::fp64);
  EXPECT_EQ(reference_dtype(Dtype::int8), Dtype::fp32);
  EXPECT_EQ(reference_dtype(Dtype::bf16), Dtype::fp32);
}

TEST(Operands, PoisonIsNanInEveryFloatingType) {
  for (const Dtype dtype : kStored) {
    const std::size_t bytes = storage_bytes(storage_dtype(DeviceKind::cuda, dtype));
    const auto ones = static_cast<std::uint32_t>((1ull << (8 * bytes)) - 1);
    EXPECT_TRUE(std::isnan(decode(dtype, ones))) << to_string(dtype);
  }
}

TEST(Operands, StorageIsTheTypeOnGpusAndFp32OnTheCpu) {
  EXPECT_EQ(storage_dtype(DeviceKind::cuda, Dtype::bf16), Dtype::bf16);
  EXPECT_EQ(storage_dtype(DeviceKind::cuda, Dtype::tf32), Dtype::fp32);
  EXPECT_EQ(storage_dtype(DeviceKind::cpu, Dtype::fp8_e4m3), Dtype::fp32);
  EXPECT_EQ(operand_bytes(DeviceKind::cuda, {.dtype = Dtype::bf16, .count = 129}), 512u);
  EXPECT_EQ(operand_bytes(DeviceKind::cpu, {.dtype = Dtype::bf16, .count = 64}), 256u);
  EXPECT_THROW(operand_bytes(DeviceKind::cpu, {.count = std::size_t{1} << 63}), ConfigError);
}

TEST(Operands, RotationPutsTwiceTheCacheBetweenUses) {
  DeviceInfo device;
  device.l2_bytes = 50 << 20;
  for (const std::uint64_t bytes : {1ull << 20, 33ull << 20, 60ull << 20, 1ull << 30}) {
    const std::size_t sets = rotation_sets(device, CacheMode::cold, bytes);
    EXPECT_GE((sets - 1) * bytes, 2 * device.l2_bytes) << bytes;
    EXPECT_TRUE(sets == 2 || (sets - 2) * bytes < 2 * device.l2_bytes) << bytes;
  }
  EXPECT_EQ(rotation_sets(device, CacheMode::cold, 256), 1024u);
  EXPECT_EQ(rotation_sets(device, CacheMode::hot, 256), 1u);
  device.l2_bytes = 0;
  EXPECT_EQ(rotation_sets(device, CacheMode::cold, 256), 2u);
}

TEST_F(OnCpu, SetsHoldTheSameInputsApartAndPoisonedOutputs) {
  Context context = bench.context();
  const OperandSets sets(
      context, {{.name = "a", .count = 100000}, {.name = "c", .role = Role::output, .count = 33}});
  ASSERT_GE(sets.sets(), 2u);
  const auto* first = static_cast<const float*>(sets.set(0)[0]);
  const auto* second = static_cast<const float*>(sets.set(1)[0]);
  EXPECT_NE(first, second);
  EXPECT_TRUE(std::equal(first, first + 100000, second));
  const auto* out = static_cast<const float*>(sets.set(1)[1]);
  EXPECT_TRUE(std::all_of(out, out + 33, [](float value) { return std::isnan(value); }));
}

class Compare : public OnCpu {
 protected:
  Check check(const std::vector<float>& out, const std::vector<float>& reference,
              double tolerance) {
    const Operand operand{
        .name = "out", .role = Role::output, .count = out.size(), .tolerance = tolerance};
    return compare_with_reference(*bench.device, *bench.stream, out.data(), operand,
                                  reference.data());
  }
};

TEST_F(Compare, EqualPassesWithToleranceZero) {
  const std::vector<float> values{1.f, -2.f, 0.f};
  const Check result = check(values, values, 0);
  EXPECT_TRUE(result.passed);
  EXPECT_EQ(result.error, 0);
}

TEST_F(Compare, ErrorIsRelativeToValueAndRms) {
  const Check result = check({3.f, 1.f, 1.f, 1.f}, {1.f, 1.f, 1.f, 1.f}, 0.5);
  EXPECT_FALSE(result.passed);
  EXPECT_DOUBLE_EQ(result.error, 1.0);  // 2 / (1 + 1)
  EXPECT_NE(result.detail.find("first at 0"), std::string::npos) << result.detail;
}

TEST_F(Compare, ZeroReferenceAcceptsOnlyZero) {
  EXPECT_TRUE(check({0.f, -0.f}, {0.f, 0.f}, 1e-3).passed);
  EXPECT_FALSE(check({0.f, 1e-30f}, {0.f, 0.f}, 1e-3).passed);
}

TEST_F(Compare, Fp64AndInt32AreComparedToTheirLastBit) {
  const auto check_wide = [&](const void* out, Dtype dtype, const std::vector<double>& reference,
                              double tolerance) {
    const Operand operand{.name = "out",
                          .role = Role::output,
                          .dtype = dtype,
                          .count = reference.size(),
                          .tolerance = tolerance};
    return compare_with_reference(*bench.device, *bench.stream, out, operand, reference.data());
  };
  const std::vector<double> wanted{1.0, -3.0};
  std::vector<double> out{1.0, -3.0 - 0x1p-51};
  EXPECT_TRUE(check_wide(out.data(), Dtype::fp64, wanted, 1e-15).passed);
  EXPECT_FALSE(check_wide(out.data(), Dtype::fp64, wanted, 1e-17).passed);
  out[0] = std::nan("");
  EXPECT_FALSE(check_wide(out.data(), Dtype::fp64, wanted, 1).passed);
  const std::vector<double> sums{2147483647.0, -2147483648.0};
  std::vector<std::int32_t> integers{2147483647, std::numeric_limits<std::int32_t>::min()};
  EXPECT_TRUE(check_wide(integers.data(), Dtype::int32, sums, 0).passed);
  integers[0] -= 1;
  const Check off = check_wide(integers.data(), Dtype::int32, sums, 0);
  EXPECT_FALSE(off.passed);
  EXPECT_NE(off.detail.find("2147483646 instead of 2147483647"), std::string::npos) << off.detail;
}

TEST_F(Compare, NonFiniteFailsOnEitherSide) {
  const float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
  for (const float bad : {nan, infinity, -infinity}) {
    std::vector<float> values(100000, 1.f), spoilt = values;
    spoilt[77777] = bad;
    const Check out = check(spoilt, values, 10);
    EXPECT_FALSE(out.passed);
    EXPECT_FALSE(std::isfinite(out.error));
    EXPECT_NE(out.detail.find("first at 77777"), std::string::npos) << out.detail;
    EXPECT_FALSE(check(values, spoilt, 10).passed);
    EXPECT_FALSE(check(spoilt, spoilt, 10).passed);
  }
}

/// out = a + 2 b, and its reference in double.
class SumPlan : public Plan {
 public:
  explicit SumPlan(std::size_t count) : count_(count) {}
  std::size_t workspace_bytes() const override { return 512; }
  std::string algorithm() const override { return "sum"; }
  void run(Stream&, std::span<void* const> operands, void* workspace) override {
    EXPECT_NE(workspace, nullptr);
    const auto* a = static_cast<const float*>(operands[0]);
    const auto* b = static_cast<const float*>(operands[1]);
    auto* out = static_cast<float*>(operands[2]);
    for (std::size_t i = 0; i < count_; ++i) out[i] = a[i] + 2 * b[i];
  }

 private:
  std::size_t count_;
};

std::vector<Operand> sum_operands(std::size_t count) {
  return {{.name = "a", .count = count},
          {.name = "b", .count = count},
          {.name = "out", .role = Role::output, .count = count, .tolerance = 1e-6}};
}

OpJobSpec sum_spec(std::size_t count) {
  OpJobSpec spec;
  spec.operands = sum_operands(count);
  spec.plan = std::make_unique<SumPlan>(count);
  spec.info.impl = "test";
  spec.reference_name = "double";
  spec.reference = [count](Stream&, std::span<void* const> operands,
                           std::span<float* const> references) {
    SumPlan(count).run(*std::unique_ptr<Stream>(make_cpu_device()->make_stream()),
                       std::vector<void*>{operands[0], operands[1], references[0]}, references[0]);
  };
  return spec;
}

TEST_F(OnCpu, OpJobRefusesAReferenceOfAnotherTypeThanItsOutputs) {
  Context context = bench.context();
  OpJobSpec narrow_reference = sum_spec(10);
  narrow_reference.operands[2].dtype = Dtype::fp64;
  EXPECT_THROW(OpJob(context, std::move(narrow_reference)), Error);
  OpJobSpec wide_reference = sum_spec(10);
  wide_reference.wide_reference = [](Stream&, std::span<void* const>, std::span<double* const>) {};
  EXPECT_THROW(OpJob(context, std::move(wide_reference)), Error);
}

TEST_F(OnCpu, OpJobVerifiesEverySetAndTellsWhatItTook) {
  Context context = bench.context();
  OpJob job(context, sum_spec(1000));
  const Check check = job.verify(*bench.stream);
  EXPECT_TRUE(check.passed) << check.detail;
  EXPECT_EQ(check.reference, "double");
  EXPECT_TRUE(job.verify(*bench.stream).passed);
  EXPECT_EQ(job.info().algorithm, "sum");
  EXPECT_EQ(job.info().workspace_bytes, 512u);
  const std::uint64_t footprint =
      op_job_footprint(bench.device->info(), bench.conditions, sum_operands(1000));
  EXPECT_EQ(job.info().memory_bytes, footprint + 512);
}

TEST_F(OnCpu, ColdRunThatStaysInTheCacheIsMarked) {
  if (bench.device->info().l2_bytes == 0) GTEST_SKIP() << "cache size not known here";
  Context context = bench.context();
  EXPECT_EQ(OpJob(context, sum_spec(16)).info().warnings,
            std::vector<std::string>{"W_CACHE_RESIDENT"});
  bench.conditions.cache = CacheMode::hot;
  EXPECT_TRUE(OpJob(context, sum_spec(16)).info().warnings.empty());
}

TEST_F(OnCpu, EveryPlantedFaultIsFound) {
  for (const std::size_t count : {65u, 1000u, 100001u}) {
    for (const Fault fault : kAllFaults) {
      bench.conditions.fault = fault;
      Context context = bench.context();
      OpJob job(context, sum_spec(count));
      const Check check = job.verify(*bench.stream);
      EXPECT_FALSE(check.passed) << to_string(fault) << " of " << count;
      EXPECT_FALSE(check.detail.empty());
    }
  }
}

TEST_F(OnCpu, AFaultInOneSetOnlyIsFound) {
  Context context = bench.context();
  OpJob job(context, sum_spec(1000));
  ASSERT_TRUE(job.verify(*bench.stream).passed);
  // After verification the inputs of a later set change behind the job's back.
  OpJobSpec spec = sum_spec(1000);
  struct SpoilSecond : Plan {
    SumPlan sum{1000};
    int runs = 0;
    std::size_t workspace_bytes() const override { return 512; }
    void run(Stream& stream, std::span<void* const> operands, void* workspace) override {
      sum.run(stream, operands, workspace);
      if (++runs == 2) static_cast<float*>(operands[2])[999] += 1.f;
    }
  };
  spec.plan = std::make_unique<SpoilSecond>();
  OpJob spoilt(context, std::move(spec));
  const Check check = spoilt.verify(*bench.stream);
  EXPECT_FALSE(check.passed);
  EXPECT_NE(check.detail.find("buffer set 1"), std::string::npos) << check.detail;
}

TEST(ParallelFor, TouchesEveryItemOnceAndPassesErrorsOn) {
  for (const std::size_t count : {0u, 1u, 7u, 1000u}) {
    std::vector<std::atomic<int>> touched(count);
    parallel_for(count, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) ++touched[i];
    });
    for (const auto& times : touched) EXPECT_EQ(times, 1);
  }
  EXPECT_THROW(parallel_for(100, 1,
                            [](std::size_t, std::size_t end) {
                              if (end == 100) throw std::runtime_error("part");
                            }),
               std::runtime_error);
}

}  // namespace
}  // namespace gpubench
