// SPDX-License-Identifier: Apache-2.0
// All-reduce in worlds of one to eight ranks, each a thread with a cpu device of its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "core/suite.h"
#include "gpubench/error.h"
#include "gpubench/world.h"
#include "ops/all_reduce/job.h"
#include "ops/all_reduce/pattern_backend.h"
#include "ops/all_reduce/providers.h"
#include "tests/ops_fixture.h"
#include "tests/unit/all_reduce_ranks.h"
#include "tests/unit/spy_device.h"

namespace gpubench {
namespace {

constexpr ReduceType kTypes[] = {ReduceType::fp32, ReduceType::bf16, ReduceType::fp16,
                                 ReduceType::fp8, ReduceType::int32};
constexpr ReduceOp kOps[] = {ReduceOp::sum, ReduceOp::max, ReduceOp::avg};
const std::vector<std::string> kTypeNames{"fp32", "bf16", "fp16", "fp8", "int32"};
const std::vector<std::string> kOpNames{"sum", "max", "avg"};

/// Whether the element type holds the number exactly.
bool holds(ReduceType type, double value) {
  if (type == ReduceType::int32) {
    return value == std::floor(value) && std::fabs(value) <= 0x7FFFFFFF;
  }
  const auto narrow = static_cast<float>(value);
  return static_cast<double>(narrow) == value && round_to(reduce_dtype(type), narrow) == narrow;
}

TEST(AllReducePattern, EverySumInAnyOrderIsExactInTheType) {
  for (const ReduceType type : kTypes) {
    for (const ReduceOp op : kOps) {
      for (const int ranks : {1, 2, 4, 8}) {
        const ReducePattern pattern = all_reduce_pattern({.type = type, .op = op}, ranks, 7);
        double largest_sum = 0;
        for (std::uint64_t block = 0; block < 500; ++block) {
          const PatternOutputs wanted = pattern_outputs(pattern, block);
          for (int i = 0; i < 4; ++i) {
            double sum = 0, largest = 0;
            for (int rank = 0; rank < ranks; ++rank) {
              const double value = pattern_inputs(pattern, rank, block).v[i];
              ASSERT_TRUE(holds(type, value) && value >= 1);
              ASSERT_TRUE(holds(type, value / ranks) || type == ReduceType::int32);
              sum += value;
              largest = std::fmax(largest, value);
            }
            double result = op == ReduceOp::max ? largest : sum;
            if (op == ReduceOp::avg) result /= ranks;
            if (type == ReduceType::int32) result = std::floor(result);
            ASSERT_EQ(wanted.v[i], result);
            ASSERT_TRUE(holds(type, result)) << to_string(type) << result;
            largest_sum = std::fmax(largest_sum, sum);
          }
        }
        // Narrow types are used up to their end, where a lost bit shows.
        const double end = type == ReduceType::fp8 ? 16 : type == ReduceType::bf16 ? 256 : 2048;
        EXPECT_GT(largest_sum, 0.6 * end) << to_string(type) << ranks;
      }
    }
  }
}

TEST(AllReducePattern, RanksAndSeedsAndElementsDiffer) {
  const ReducePattern pattern = all_reduce_pattern({.type = ReduceType::fp32}, 4, 1);
  std::set<std::uint32_t> seen;
  for (int rank = 0; rank < 4; ++rank) {
    for (std::uint64_t block = 0; block < 25; ++block) {
      for (const std::uint32_t value : pattern_inputs(pattern, rank, block).v) seen.insert(value);
    }
  }
  EXPECT_GT(seen.size(), 395U) << "of 400 draws from four million";
  ReducePattern other = pattern;
  other.seed = 2;
  EXPECT_NE(pattern_inputs(pattern, 0, 0).v[0], pattern_inputs(other, 0, 0).v[0]);
}

TEST(AllReducePattern, WhatCanNotBeExactIsUnsupported) {
  const auto code = [](ReduceType type, ReduceOp op, int ranks) -> std::string {
    try {
      static_cast<void>(all_reduce_pattern({.type = type, .op = op}, ranks, 1));
    } catch (const Unsupported& error) {
      return error.code();
    }
    return "";
  };
  EXPECT_EQ(code(ReduceType::fp8, ReduceOp::sum, 8), "");
  EXPECT_EQ(code(ReduceType::fp8, ReduceOp::sum, 9), "E_UNSUPPORTED_WORLD");
  EXPECT_EQ(code(ReduceType::bf16, ReduceOp::avg, 3), "E_UNSUPPORTED_WORLD");
  EXPECT_EQ(code(ReduceType::int32, ReduceOp::avg, 3), "");
  EXPECT_EQ(code(ReduceType::bf16, ReduceOp::sum, 3), "");
}

TEST(AllReducePattern, TheCheckFindsOneWrongElementAndNan) {
  TestBench bench(make_cpu_device());
  const PatternBackend backend = cpu_pattern_backend();
  const std::uint64_t count = 100003;
  const ReducePattern pattern = all_reduce_pattern({.type = ReduceType::bf16}, 1, 3);
  std::vector<float> out(count);
  const auto check = [&] {
    return backend.check(*bench.device, *bench.stream, out.data(), pattern, count);
  };
  backend.fill(*bench.stream, out.data(), pattern, 0, count);
  EXPECT_EQ(check().wrong, 0U);
  out[count - 1] += 1;
  out[77777] = std::nanf("");
  out[70000] = 3 * out[70000];
  const PatternFaults faults = check();
  EXPECT_EQ(faults.wrong, 3U);
  EXPECT_EQ(faults.first, 70000U);
  EXPECT_EQ(faults.nonfinite, 1U);
  EXPECT_EQ(faults.max_error, 2);
}

TEST(AllReduceOneRank, EveryTypeAndOperationIsRightAtOddSizes) {
  for (const std::string& dtype : kTypeNames) {
    for (const std::string& op : kOpNames) {
      for (const int count : {1, 3, 4, 1023, 70001}) {
        const auto element = static_cast<int>(reduce_type_bytes(parse_reduce_type(dtype)));
        const std::string bytes = std::to_string(count * element);
        for_ranks(1, {{"dtype", dtype}, {"op", op}, {"bytes", bytes}}, [&](RankBench& rank) {
          const Check check = rank.job->verify(*rank.bench.stream);
          EXPECT_TRUE(check.passed) << dtype << op << bytes << check.detail;
          EXPECT_EQ(check.error, 0);
          EXPECT_EQ(check.tolerance, 0);
        });
      }
    }
  }
}

TEST(AllReduceOneRank, SaysThatItIsACopyAndEmulated) {
  for_ranks(1, {{"bytes", "1MiB"}}, [](RankBench& rank) {
    const JobInfo info = rank.job->info();
    EXPECT_EQ(info.impl, "cpu");
    EXPECT_TRUE(info.emulated);
    EXPECT_EQ(info.compute_type, "fp32");
    EXPECT_EQ(info.peak_dtype, "");
    EXPECT_EQ(info.algorithm, "1 rank in host memory");
    EXPECT_EQ(info.warnings, std::vector<std::string>{"W_WORLD_OF_ONE"});
    EXPECT_FALSE(rank.job->work().bus_factor.has_value());
    EXPECT_EQ(rank.job->work().message_bytes, 1 << 20);
    EXPECT_EQ(info.memory_bytes, 4U << 20) << "one set, in and out, FP32 on the cpu";
    // What the footprint promised, but for the check's few bytes.
    const WorkloadInfo& workload = find_workload("comm/all_reduce");
    EXPECT_EQ(workload.footprint(rank.bench.device->info(), rank.bench.conditions,
                                 Params::resolve(workload.params, {{"bytes", "1MiB"}})),
              info.memory_bytes + 256);
  });
}

TEST(AllReduceOneRank, RefusesWhatItCanNotDo) {
  const auto code = [](const std::map<std::string, std::string>& params) -> std::string {
    try {
      for_ranks(1, params, [](RankBench&) {});
    } catch (const Error& error) {
      return error.code();
    }
    return "";
  };
  EXPECT_EQ(code({{"bytes", "8"}, {"inplace", "1"}}), "E_UNSUPPORTED_WORLD");
  EXPECT_EQ(code({{"bytes", "7"}}), "E_SIZE");
  EXPECT_EQ(code({{"bytes", "6"}, {"dtype", "fp32"}}), "E_SIZE");
  EXPECT_EQ(code({{"bytes", "7"}, {"dtype", "fp8"}}), "");
#if GPUBENCH_HAS_CUDA
  EXPECT_EQ(code({{"bytes", "8"}, {"impl", "nccl"}}), "E_UNSUPPORTED_DEVICE");
#endif
}

TEST(AllReduceOneRank, RotatingSetsAreAllRight) {
  for_ranks(
      1, {{"bytes", "64KiB"}},
      [](RankBench& rank) {
        EXPECT_GT(rank.job->sets(), 2U);
        const Check check = rank.job->verify(*rank.bench.stream);
        EXPECT_TRUE(check.passed) << check.detail;
      },
      [](int, Conditions& conditions) { conditions.cache = CacheMode::cold; });
}

class AllReduceRanks : public testing::TestWithParam<int> {};

TEST_P(AllReduceRanks, EveryTypeAndOperationIsRightInAndOutOfPlace) {
  for (const std::string& dtype : kTypeNames) {
    for (const std::string& op : kOpNames) {
      if (op == "avg" && dtype != "int32" && GetParam() == 3) continue;  // rounds
      for (const char* inplace : {"0", "1"}) {
        if (GetParam() == 1 && inplace[0] == '1') continue;  // unsupported
        for (const char* bytes : {"4", "1204", "40012"}) {   // fewer elements than ranks, too
          for_ranks(GetParam(),
                    {{"dtype", dtype}, {"op", op}, {"bytes", bytes}, {"inplace", inplace}},
                    [&](RankBench& rank) {
                      const Check first = rank.job->verify(*rank.bench.stream);
                      EXPECT_TRUE(first.passed) << dtype << op << bytes << first.detail;
                      for (std::size_t i = 0; i < 3; ++i) rank.job->enqueue(*rank.bench.stream, i);
                      EXPECT_TRUE(rank.job->verify(*rank.bench.stream).passed) << "after running";
                    });
        }
      }
    }
  }
}

TEST_P(AllReduceRanks, RandomDataAddUpAsInDouble) {
  const std::size_t count = 1003;
  const auto ranks = static_cast<std::size_t>(GetParam());
  std::vector<std::vector<float>> in(ranks, std::vector<float>(count)), out = in;
  const Operand operand{.count = count};
  ThreadWorld world(GetParam());
  run_ranks(world, [&](World& mine) {
    const auto rank = static_cast<std::size_t>(mine.rank());
    TestBench bench(make_cpu_device());
    Context context = bench.context();
    context.world = &mine;
    fill_operand(*bench.device, *bench.stream, in[rank].data(), operand, DataDist::normal, 9, rank);
    const auto plan = cpu_all_reduce_provider().plan(
        context, {.type = ReduceType::fp32, .op = ReduceOp::sum, .count = count});
    const std::array<void*, 2> operands{in[rank].data(), out[rank].data()};
    plan->run(*bench.stream, operands, nullptr);
  });
  for (std::size_t i = 0; i < count; ++i) {
    double sum = 0, sizes = 0;
    for (const auto& values : in) {
      sum += static_cast<double>(values[i]);
      sizes += std::fabs(static_cast<double>(values[i]));
    }
    for (const auto& values : out) {
      // n - 1 additions, each off by half a unit of the largest partial sum at most.
      ASSERT_NEAR(static_cast<double>(values[i]), sum, 0x1p-24 * GetParam() * sizes) << i;
    }
  }
}

TEST_P(AllReduceRanks, AFaultOnOneRankFailsTheCheckOfAll) {
  const int ranks = GetParam(), faulty = ranks - 1;
  for (const Fault fault : kAllFaults) {
    for (const std::string& dtype : kTypeNames) {
      std::atomic<int> failed = 0;
      for_ranks(
          ranks, {{"dtype", dtype}, {"bytes", "4000"}},
          [&](RankBench& rank) {
            const Check check = rank.job->verify(*rank.bench.stream);
            if (check.passed) return;
            ++failed;
            EXPECT_NE(check.detail.find("elements wrong"), std::string::npos) << check.detail;
            // Where its result is wrong it is named; a wrong input spoils everybody's.
            if (fault != Fault::swapped_operands && ranks > 1) {
              EXPECT_EQ(check.detail.find("rank " + std::to_string(faulty) + ": "), 0U);
            }
          },
          [&](int rank, Conditions& conditions) {
            if (rank == faulty) conditions.fault = fault;
          });
      EXPECT_EQ(failed, ranks) << to_string(fault) << dtype;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OneToEight, AllReduceRanks, testing::Values(1, 2, 3, 4, 8));

TEST(AllReduceFailures, InPlaceFaultsAreFound) {
  for (const Fault fault : {Fault::wrong_element, Fault::unwritten_tile, Fault::nan}) {
    std::atomic<int> failed = 0;
    for_ranks(
        2, {{"bytes", "4000"}, {"inplace", "1"}},
        [&](RankBench& rank) { failed += rank.job->verify(*rank.bench.stream).passed ? 0 : 1; },
        [&](int rank, Conditions& conditions) {
          if (rank == 0) conditions.fault = fault;
        });
    EXPECT_EQ(failed, 2) << to_string(fault);
  }
}

TEST(AllReduceFailures, ARankWithoutMemoryEndsTheOthers) {
  ThreadWorld world(3);
  std::atomic<int> told = 0;
  try {
    run_ranks(world, [&](World& mine) {
      if (mine.rank() == 1) throw DeviceError("E_OOM", "full");
      try {
        RankBench rank(mine, {{"bytes", "4000"}}, {});
        rank.job->verify(*rank.bench.stream);
      } catch (const Error& error) {
        if (error.code() == "E_RANK_FAILED") ++told;
        throw;
      }
    });
    FAIL() << "nothing thrown";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.code(), "E_OOM");
  }
  EXPECT_EQ(told, 2);
}

/// Right the first time, and does nothing from then on.
class LazyPlan : public Plan {
 public:
  explicit LazyPlan(std::uint64_t count) : count_(count) {}
  std::size_t workspace_bytes() const override { return 0; }
  void run(Stream&, std::span<void* const> operands, void*) override {
    if (ran_) return;
    std::copy_n(static_cast<const float*>(operands[0]), count_, static_cast<float*>(operands[1]));
    ran_ = true;
  }

 private:
  std::uint64_t count_;
  bool ran_ = false;
};

TEST(AllReduceFailures, AnEarlierResultIsNotTakenForANewOne) {
  ThreadWorld world(1);
  TestBench bench(make_cpu_device());
  bench.conditions.cache = CacheMode::hot;
  Context context = bench.context();
  context.world = &world.rank(0);
  const Provider<AllReduceProblem> lazy{
      "lazy", [](const DeviceInfo&, const AllReduceProblem&) { return Support::yes(); },
      [](Context&, const AllReduceProblem& problem) -> std::unique_ptr<Plan> {
        return std::make_unique<LazyPlan>(problem.count);
      }};
  const auto job = make_all_reduce_job(context, {.type = ReduceType::fp32, .count = 100}, lazy);
  EXPECT_TRUE(job->verify(*bench.stream).passed);
  const Check second = job->verify(*bench.stream);
  EXPECT_FALSE(second.passed);
  EXPECT_NE(second.detail.find("100 of 100 elements wrong (100 not finite)"), std::string::npos)
      << second.detail;
}

TEST(AllReduceFailures, RanksWithCachesOfDifferentSizesAreRefused) {
  const auto run = [](std::uint64_t second_l2_bytes) {
    ThreadWorld world(2);
    run_ranks(world, [&](World& mine) {
      const auto cold = [](int, Conditions& conditions) { conditions.cache = CacheMode::cold; };
      RankBench rank(mine, {{"bytes", "100000"}}, cold,
                     std::make_unique<SpyDevice>(mine.rank() == 1 ? second_l2_bytes : 1 << 20));
      EXPECT_TRUE(rank.job->verify(*rank.bench.stream).passed);
    });
  };
  EXPECT_NO_THROW(run(1 << 20));
  EXPECT_THROW(run(1 << 21), Unsupported);
}

TEST(AllReduceData, WhatIsMeasuredIsWhatWasAskedForNotThePattern) {
  ThreadWorld world(1);
  auto spy = std::make_unique<SpyDevice>();
  const SpyDevice& device = *spy;
  TestBench bench(std::move(spy));
  bench.conditions.cache = CacheMode::hot;
  bench.conditions.data = DataDist::ones;
  Context context = bench.context();
  context.world = &world.rank(0);
  const WorkloadInfo& workload = find_workload("comm/all_reduce");
  const auto job = workload.prepare(context, Params::resolve(workload.params, {{"bytes", "200"}}));
  const auto* in = static_cast<const float*>(device.last());
  const auto all_ones = [&] {
    for (int i = 0; i < 100; ++i) {
      if (in[i] != 1) return false;
    }
    return true;
  };
  EXPECT_TRUE(all_ones());
  EXPECT_TRUE(job->verify(*bench.stream).passed);
  EXPECT_TRUE(all_ones()) << "the pattern was left behind";
}

}  // namespace
}  // namespace gpubench
