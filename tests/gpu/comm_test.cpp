// SPDX-License-Identifier: Apache-2.0
// All-reduce over NCCL on the GPUs that are there: a world of one, and one of two or more where
// there are as many. Skipped without a GPU or without NCCL.
#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "core/suite.h"
#include "gpubench/error.h"
#include "gpubench/world.h"
#include "ops/all_reduce/pattern_backend.h"
#include "ops/all_reduce/problem.h"
#include "tests/unit/all_reduce_ranks.h"

namespace gpubench {
namespace {

constexpr ReduceType kTypes[] = {ReduceType::fp32, ReduceType::bf16, ReduceType::fp16,
                                 ReduceType::fp8, ReduceType::int32};

class CommOnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    const CudaState state = cuda_state();
    if (state.kind != CudaState::Kind::ok) GTEST_SKIP() << state.message;
    gpus_ = cuda_device_infos();
  }

  /// At most as many as there are GPUs.
  int most_ranks() const { return std::min(8, static_cast<int>(gpus_.size())); }

  /// Runs `body` on `ranks` GPUs; false where the machine can't do what was asked.
  bool on_gpus(int ranks, const std::map<std::string, std::string>& params,
               const std::function<void(RankBench&)>& body, const RankBench::Adjust& adjust = {}) {
    ThreadWorld world(ranks);
    try {
      run_ranks(world, [&](World& mine) {
        auto device = make_cuda_device(gpus_[static_cast<std::size_t>(mine.rank())].index);
        device->activate();
        RankBench rank(mine, params, adjust, std::move(device));
        body(rank);
      });
    } catch (const Unsupported& error) {
      why_not_ = error.what();
      return false;
    }
    return true;
  }

  bool has_nccl() {
    return on_gpus(1, {{"bytes", "4"}}, [](RankBench&) {});
  }

  std::vector<DeviceInfo> gpus_;
  std::string why_not_;
};

TEST_F(CommOnGpu, PatternIsTheHostsInEveryType) {
  TestBench gpu(make_cuda_device(0));
  const PatternBackend backend = cuda_pattern_backend();
  for (const ReduceType type : kTypes) {
    for (const std::uint64_t count : {1, 3, 4, 5, 100003}) {
      const std::size_t element = reduce_type_bytes(type);
      for (const int ranks : {1, 2, 8}) {
        const ReducePattern pattern = all_reduce_pattern({.type = type}, ranks, 5);
        Buffer buffer(*gpu.device, count * element + 16);
        gpu.device->fill_bytes(*gpu.stream, buffer.data(), 0x5A, buffer.size());
        backend.fill(*gpu.stream, buffer.data(), pattern, ranks - 1, count);
        std::vector<std::uint8_t> bytes(buffer.size());
        gpu.device->copy_to_host(*gpu.stream, bytes.data(), buffer.data(), bytes.size());
        for (std::uint64_t i = 0; i < count; ++i) {
          std::uint32_t bits = 0;
          for (std::size_t j = 0; j < element; ++j) {
            bits |= std::uint32_t{bytes[i * element + j]} << (8 * j);
          }
          const std::uint32_t wanted = pattern_inputs(pattern, ranks - 1, i / 4).v[i % 4];
          if (type == ReduceType::int32) {
            ASSERT_EQ(bits, wanted);
          } else {
            ASSERT_EQ(decode(reduce_dtype(type), bits), static_cast<float>(wanted));
          }
        }
        for (std::size_t i = count * element; i < bytes.size(); ++i) {
          ASSERT_EQ(bytes[i], 0x5A) << "written past the end";
        }
      }
    }
  }
}

TEST_F(CommOnGpu, TheCheckAgreesWithTheHostAndFindsEveryWrongElement) {
  TestBench gpu(make_cuda_device(0));
  const PatternBackend backend = cuda_pattern_backend();
  for (const ReduceType type : kTypes) {
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::max, ReduceOp::avg}) {
      const int ranks = 4;
      const std::uint64_t count = 10007;
      const std::size_t element = reduce_type_bytes(type);
      const ReducePattern pattern = all_reduce_pattern({.type = type, .op = op}, ranks, 5);
      std::vector<std::uint8_t> bytes(count * element);
      const auto put = [&](std::uint64_t i, double value) {
        const std::uint32_t bits =
            type == ReduceType::int32 ? static_cast<std::uint32_t>(static_cast<std::int64_t>(value))
                                      : encode(reduce_dtype(type), static_cast<float>(value));
        for (std::size_t j = 0; j < element; ++j) {
          bytes[i * element + j] = static_cast<std::uint8_t>(bits >> (8 * j));
        }
      };
      for (std::uint64_t i = 0; i < count; ++i) put(i, pattern_outputs(pattern, i / 4).v[i % 4]);
      Buffer buffer(*gpu.device, bytes.size());
      const auto faults = [&] {
        gpu.device->copy_to_device(*gpu.stream, buffer.data(), bytes.data(), bytes.size());
        return backend.check(*gpu.device, *gpu.stream, buffer.data(), pattern, count);
      };
      EXPECT_EQ(faults().wrong, 0U) << to_string(type);
      put(count - 1, 0);
      EXPECT_EQ(faults().wrong, 1U) << to_string(type);
      EXPECT_EQ(faults().first, count - 1);
      EXPECT_EQ(faults().max_error, 1);
      // Poison: NaN in the floating types, -1 in int32.
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(600 * element), element, 0xFF);
      EXPECT_EQ(faults().wrong, 2U);
      EXPECT_EQ(faults().first, 600U);
      EXPECT_EQ(faults().nonfinite, type == ReduceType::int32 ? 0U : 1U);
    }
  }
}

TEST_F(CommOnGpu, OneRankIsRightInEveryTypeAtOddSizes) {
  if (!has_nccl()) GTEST_SKIP() << why_not_;
  for (const char* dtype : {"fp32", "bf16", "fp16", "fp8", "int32"}) {
    for (const char* op : {"sum", "max", "avg"}) {
      for (const char* bytes : {"4", "20", "262148", "2000012"}) {
        const bool ran =
            on_gpus(1, {{"dtype", dtype}, {"op", op}, {"bytes", bytes}}, [&](RankBench& rank) {
              const Check check = rank.job->verify(*rank.bench.stream);
              EXPECT_TRUE(check.passed) << dtype << op << bytes << check.detail;
              rank.job->enqueue(*rank.bench.stream, 0);
              rank.bench.stream->synchronize();
              EXPECT_TRUE(rank.job->verify(*rank.bench.stream).passed) << "after running";
            });
        EXPECT_TRUE(ran || std::string(dtype) == "fp8") << why_not_;
      }
    }
  }
}

TEST_F(CommOnGpu, OneRankSaysThatItIsACopy) {
  if (!has_nccl()) GTEST_SKIP() << why_not_;
  on_gpus(1, {{"bytes", "64MiB"}}, [](RankBench& rank) {
    const JobInfo info = rank.job->info();
    EXPECT_EQ(info.impl, "nccl");
    EXPECT_FALSE(info.emulated);
    EXPECT_EQ(info.algorithm, "1 rank: local copy");
    EXPECT_EQ(info.warnings, std::vector<std::string>{"W_WORLD_OF_ONE"});
    EXPECT_FALSE(rank.job->work().bus_factor.has_value());
  });
}

TEST_F(CommOnGpu, ItCanBeCapturedInAGraph) {
  if (!has_nccl()) GTEST_SKIP() << why_not_;
  on_gpus(1, {{"bytes", "1MiB"}, {"op", "avg"}}, [](RankBench& rank) {
    ASSERT_TRUE(rank.job->verify(*rank.bench.stream).passed);
    const auto graph = rank.bench.device->capture(*rank.bench.stream, [&] {
      for (std::size_t i = 0; i < 10; ++i) rank.job->enqueue(*rank.bench.stream, i);
    });
    ASSERT_NE(graph, nullptr);
    graph->launch(*rank.bench.stream);
    rank.bench.stream->synchronize();
    EXPECT_TRUE(rank.job->verify(*rank.bench.stream).passed);
  });
}

TEST_F(CommOnGpu, EveryPlantedFaultIsFound) {
  if (!has_nccl()) GTEST_SKIP() << why_not_;
  for (const Fault fault : kAllFaults) {
    for (const char* dtype : {"fp32", "bf16", "fp16", "int32"}) {
      on_gpus(
          1, {{"dtype", dtype}, {"bytes", "2000012"}},
          [&](RankBench& rank) {
            EXPECT_FALSE(rank.job->verify(*rank.bench.stream).passed) << to_string(fault) << dtype;
          },
          [&](int, Conditions& conditions) { conditions.fault = fault; });
    }
  }
}

TEST_F(CommOnGpu, RotatingSetsAreAllRight) {
  if (!has_nccl()) GTEST_SKIP() << why_not_;
  on_gpus(
      1, {{"bytes", "4MiB"}},
      [](RankBench& rank) {
        EXPECT_GT(rank.job->sets(), 2U);
        EXPECT_TRUE(rank.job->verify(*rank.bench.stream).passed);
      },
      [](int, Conditions& conditions) { conditions.cache = CacheMode::cold; });
}

TEST_F(CommOnGpu, SeveralRanksAreRightInAndOutOfPlace) {
  if (!has_nccl()) GTEST_SKIP() << why_not_;
  if (most_ranks() < 2) GTEST_SKIP() << "one GPU only";
  for (const char* dtype : {"fp32", "bf16", "fp16", "fp8", "int32"}) {
    for (const char* inplace : {"0", "1"}) {
      for (const char* bytes : {"4", "262148", "2000012"}) {
        std::atomic<int> passed = 0;
        const bool ran =
            on_gpus(most_ranks(), {{"dtype", dtype}, {"bytes", bytes}, {"inplace", inplace}},
                    [&](RankBench& rank) {
                      const Check check = rank.job->verify(*rank.bench.stream);
                      EXPECT_TRUE(check.passed) << dtype << bytes << check.detail;
                      for (std::size_t i = 0; i < 5; ++i) rank.job->enqueue(*rank.bench.stream, i);
                      rank.bench.stream->synchronize();
                      passed += rank.job->verify(*rank.bench.stream).passed ? 1 : 0;
                      rank.world.barrier();
                    });
        EXPECT_EQ(passed, ran ? most_ranks() : 0);
        EXPECT_TRUE(ran || std::string(dtype) == "fp8") << why_not_;
      }
    }
  }
}

TEST_F(CommOnGpu, AFaultOnOneOfSeveralRanksFailsAll) {
  if (!has_nccl()) GTEST_SKIP() << why_not_;
  if (most_ranks() < 2) GTEST_SKIP() << "one GPU only";
  std::atomic<int> failed = 0;
  on_gpus(
      most_ranks(), {{"bytes", "2000012"}},
      [&](RankBench& rank) { failed += rank.job->verify(*rank.bench.stream).passed ? 0 : 1; },
      [](int rank, Conditions& conditions) {
        if (rank == 1) conditions.fault = Fault::wrong_element;
      });
  EXPECT_EQ(failed, most_ranks());
}

}  // namespace
}  // namespace gpubench
