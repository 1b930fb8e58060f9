// SPDX-License-Identifier: Apache-2.0
// What the clock's load computes and how long it is, against loops that do it step by step; and
// clocks from stamps.
#include <cmath>
#include <vector>

#include "gpubench/error.h"
#include "measure/device_clock.h"
#include "ops/clock/clock.h"
#include "tests/ops_fixture.h"

namespace gpubench {
namespace {

std::vector<float> normals(std::size_t count, std::size_t stream) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = 2 * std::sin(1.7f * static_cast<float>(i + 31 * stream));
  }
  return values;
}

TEST(ClockReference, IsWhatTheChainsOfMultiplyAddsEndWith) {
  const ClockProblem problem{.tensor = false, .blocks = 2, .steps = 3};
  const std::vector<float> b = normals(kFmaThreads * kFmaChains, 0);
  const std::vector<const float*> inputs{b.data()};
  std::vector<float> out(clock_operands(problem).back().count);
  clock_reference(problem, inputs, out.data());
  double flops = 0;
  std::size_t at = 0;
  for (int block = 0; block < 2; ++block) {
    for (int thread = 0; thread < kFmaThreads; ++thread) {
      for (int chain = 0; chain < kFmaChains; ++chain) {
        float x = chain_start(thread + chain);
        for (int i = 0; i < 3 * kFmaPerStep; ++i) {
          x = std::fmaf(x, 1.f, fma_increment(b[std::size_t(thread * kFmaChains + chain)]));
          flops += 2;
        }
        ASSERT_EQ(out[at++], x) << block << " " << thread << " " << chain;
      }
    }
  }
  EXPECT_EQ(at, out.size());
  EXPECT_EQ(clock_problem_work(problem).flops, flops);
}

TEST(ClockReference, IsWhatTheChainsOfTensorProductsEndWith) {
  const ClockProblem problem{.tensor = true, .blocks = 1, .steps = 2};
  const std::vector<float> a = normals(kMmaM * kMmaK, 1);
  const std::vector<float> b = normals(kMmaChains * kMmaK * kMmaN, 2);
  const std::vector<const float*> inputs{a.data(), b.data()};
  std::vector<float> out(clock_operands(problem).back().count);
  clock_reference(problem, inputs, out.data());
  double flops = 0;
  std::size_t at = 0;
  for (int warp = 0; warp < kMmaWarps; ++warp) {
    for (int chain = 0; chain < kMmaChains; ++chain) {
      for (int m = 0; m < kMmaM; ++m) {
        for (int n = 0; n < kMmaN; ++n) {
          float d = chain_start(warp + chain);
          for (int product = 0; product < 2 * kMmaPerStep; ++product) {
            for (int k = 0; k < kMmaK; ++k) {
              d += mma_element(a[std::size_t(m * kMmaK + k)]) *
                   mma_element(b[std::size_t((chain * kMmaK + k) * kMmaN + n)]);
              flops += 2;
            }
          }
          ASSERT_EQ(out[at++], d);
        }
      }
    }
  }
  EXPECT_EQ(at, out.size());
  EXPECT_EQ(clock_problem_work(problem).flops, flops);
}

TEST(ClockLoadSize, SumsStayExactInFp32) {
  DeviceInfo device;
  device.sm_count = 132;
  device.max_sm_clock_mhz = 2600;  // above any GPU today
  for (const bool tensor : {false, true}) {
    const ClockProblem problem = clock_problem(device, tensor, 25);
    const double length = double(problem.steps) * (tensor ? kMmaPerStep : kFmaPerStep);
    const double most = tensor ? kMmaK : kMostIncrement;
    EXPECT_LT(length * most + 32, 1 << 24);
  }
}

TEST(ClockLoadSize, LastsAtLeastAsLongAsAsked) {
  DeviceInfo device;
  device.sm_count = 132;
  device.max_sm_clock_mhz = 1980;
  // An H100's SM does 256 FP32 and 4096 BF16 FLOP per clock.
  const Work fma = clock_problem_work(clock_problem(device, false, 20));
  EXPECT_NEAR(fma.flops / (132 * 256 * 1980e6), 20e-3, 1e-4);
  const Work mma = clock_problem_work(clock_problem(device, true, 20));
  EXPECT_NEAR(mma.flops / (132 * 4096 * 1980e6), 20e-3, 1e-4);
}

TEST(Clock, TheCpuDeviceHasNone) {
  TestBench bench{make_cpu_device()};
  EXPECT_THROW(bench.job("micro/clock", {}), Unsupported);
  EXPECT_EQ(measure_device_clock(*bench.device, *bench.stream), std::nullopt);
  ClockProbe probe(*bench.device);
  probe.begin(*bench.stream);
  probe.end(*bench.stream);
  EXPECT_EQ(probe.mhz(*bench.stream), std::nullopt);
}

TEST(ClockBetween, IsTheMedianOverTheSmsThatBothHave) {
  const std::vector<ClockStamp> begin{{1000, 5000}, {0, 0}, {7000, 5000}, {50, 5000}, {90, 5000}};
  const std::vector<ClockStamp> end{{1000 + 30'000'000, 20'005'000},  // 1500 MHz
                                    {99, 20'005'000},                 // not there at the beginning
                                    {7000 + 30'020'000, 20'005'000},  // 1501
                                    {50 + 30'200'000, 20'005'000},    // 1510
                                    {0, 0}};
  EXPECT_NEAR(*clock_between(begin, end), 1501, 1e-9);
}

TEST(ClockBetween, ACounterThatStandsStillTellsNothing) {
  const std::vector<ClockStamp> begin{{1000, 5000}};
  EXPECT_EQ(clock_between(begin, std::vector<ClockStamp>{{2000, 5000}}), std::nullopt);
  EXPECT_EQ(clock_between(begin, std::vector<ClockStamp>{{1000, 6000}}), std::nullopt);
  EXPECT_EQ(clock_between(begin, std::vector<ClockStamp>{{900, 6000}}), std::nullopt);
  EXPECT_EQ(clock_between({}, {}), std::nullopt);
}

TEST(ClockRing, TellsTheClockOverTheLaunchesThatItKeeps) {
  TestBench bench{make_cpu_device()};
  ClockRing ring(*bench.device);
  EXPECT_EQ(ring.mhz(*bench.stream), std::nullopt);
  // 1000 MHz while the first 40 launches run, then 2000 MHz for as many as are kept.
  unsigned long long cycles = 1, ns = 1;
  for (int launch = 0; launch < 40 + int(kClockSlots); ++launch) {
    const unsigned long long rate = launch < 40 ? 1 : 2;
    ring.begin()[3] = {cycles, ns};
    cycles += rate * 20'000'000, ns += 20'000'000;
    ring.end()[3] = {cycles, ns};
    cycles += rate * 3000, ns += 3000;
    ring.advance();
    if (launch == 4 || launch == 39) {
      EXPECT_NEAR(*ring.mhz(*bench.stream), 1000, 1e-6);
    }
  }
  EXPECT_NEAR(*ring.mhz(*bench.stream), 2000, 1e-6);
}

}  // namespace
}  // namespace gpubench
