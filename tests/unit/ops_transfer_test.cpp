// SPDX-License-Identifier: Apache-2.0
// Transfers over a link whose two sides are both in the host's memory: everything but CUDA's calls.
#include <algorithm>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "gpubench/error.h"
#include "ops/transfer/bytes.h"
#include "ops/transfer/segments.h"
#include "ops/transfer/transfer.h"
#include "tests/ops_fixture.h"

namespace gpubench {
namespace {

struct LinkLog {
  int forks = 0, joins = 0;
  std::vector<Way> copies;
  std::vector<bool> beside;  // whether each copy came between fork and join
  bool drops_to_host = false;
};

class FakeLink : public TransferLink {
 public:
  FakeLink(LinkLog& log, std::optional<int> node) : log_(log), node_(node) {}
  std::byte* allocate_host(std::size_t bytes) override {
    return memory_.emplace_back(bytes).data();
  }
  std::optional<int> node() const override { return node_; }
  std::string impl() const override { return "fake"; }
  std::string algorithm() const override { return "memcpy"; }
  void fork(Stream&) override { ++log_.forks; }
  void join(Stream&) override { ++log_.joins; }
  void copy(Stream&, Way way, std::byte* to, const std::byte* from, std::size_t bytes) override {
    log_.copies.push_back(way);
    log_.beside.push_back(log_.forks > log_.joins);
    if (log_.drops_to_host && way == Way::to_host) return;
    std::memcpy(to, from, bytes);
  }
  void fill_device(Stream&, std::byte* to, std::uint64_t bytes,
                   const BytePattern& pattern) override {
    fill_bytes(to, bytes, pattern);
  }
  ByteDifference compare_device(Stream&, const std::byte* found, std::uint64_t bytes,
                                const BytePattern& pattern) override {
    return compare_bytes(found, bytes, pattern);
  }

 private:
  LinkLog& log_;
  std::optional<int> node_;
  std::deque<std::vector<std::byte>> memory_;
};

class Transfers : public ::testing::Test {
 protected:
  std::unique_ptr<Job> job(Direction direction, std::uint64_t bytes,
                           std::optional<int> node = std::nullopt,
                           std::optional<int> wanted = std::nullopt, Numa numa = Numa::near) {
    Context context = bench.context();
    const TransferProblem problem{.direction = direction, .numa = numa, .bytes = bytes};
    return make_transfer_job(context, problem, std::make_unique<FakeLink>(log, node), wanted);
  }
  Check verify(Direction direction, std::uint64_t bytes) {
    return job(direction, bytes)->verify(*bench.stream);
  }
  void SetUp() override { bench.conditions.cache = CacheMode::hot; }
  TestBench bench{make_cpu_device()};
  LinkLog log;
};

constexpr Direction kDirections[] = {Direction::h2d, Direction::d2h, Direction::both};

TEST_F(Transfers, EveryDirectionIsRightAtOddSizes) {
  for (const Direction direction : kDirections) {
    for (const std::uint64_t bytes : {1u, 15u, 16u, 17u, 255u, 257u, 300'001u}) {
      const Check check = verify(direction, bytes);
      EXPECT_TRUE(check.passed) << bytes << ": " << check.detail;
      EXPECT_EQ(check.error, 0);
    }
  }
}

TEST_F(Transfers, EveryPlantedFaultIsFound) {
  for (const Fault fault : kAllFaults) {
    bench.conditions.fault = fault;
    for (const Direction direction : kDirections) {
      for (const std::uint64_t bytes : {17u, 600u, 300'001u}) {
        const Check check = verify(direction, bytes);
        EXPECT_FALSE(check.passed) << bytes << " " << int(fault);
        EXPECT_GT(check.error, 0);
        EXPECT_NE(check.detail.find("bytes wrong"), std::string::npos) << check.detail;
      }
    }
  }
}

TEST_F(Transfers, ABothWaysTransferThatLosesOneWayIsFound) {
  log.drops_to_host = true;
  const Check check = verify(Direction::both, 4096);
  EXPECT_FALSE(check.passed);
  EXPECT_EQ(check.error, 4096) << "poison differs from what is expected in every byte";
  EXPECT_NE(check.detail.find("to the host"), std::string::npos) << check.detail;
}

TEST_F(Transfers, OnlyBothWaysForkAndJoin) {
  const auto both = job(Direction::both, 64);
  both->enqueue(*bench.stream, 0);
  EXPECT_EQ(log.forks, 1);
  EXPECT_EQ(log.joins, 1);
  EXPECT_EQ(log.copies, (std::vector<Way>{Way::to_device, Way::to_host}));
  EXPECT_EQ(log.beside, (std::vector<bool>{true, true}));
  log = {};
  job(Direction::d2h, 64)->enqueue(*bench.stream, 0);
  EXPECT_EQ(log.forks, 0);
  EXPECT_EQ(log.copies, std::vector<Way>{Way::to_host});
}

TEST_F(Transfers, BuffersRotateForAColdCache) {
  bench.conditions.cache = CacheMode::cold;
  const auto cold = job(Direction::both, 100'000);
  EXPECT_GT(cold->sets(), 1U);
  EXPECT_TRUE(cold->verify(*bench.stream).passed);
  EXPECT_EQ(log.copies.size(), 2 * cold->sets());
}

TEST_F(Transfers, BytesOfBothDirectionsCount) {
  EXPECT_EQ(job(Direction::h2d, 1000)->work().bytes, 1000);
  EXPECT_EQ(job(Direction::d2h, 1000)->work().bytes_over, "pcie");
  EXPECT_EQ(job(Direction::both, 1000)->work().bytes, 2000);
  EXPECT_EQ(job(Direction::both, 1000)->work().bytes_over, "pcie_duplex");
}

TEST_F(Transfers, CallsAreMeasuredAsTheyAreMade) {
  EXPECT_EQ(job(Direction::h2d, 64)->timing(), Timing::stream);
}

TEST_F(Transfers, TheNodeIsNamedAndAnotherOneIsToldOf) {
  const JobInfo right = job(Direction::h2d, 64, 1, 1)->info();
  EXPECT_EQ(right.algorithm, "memcpy, NUMA node 1");
  EXPECT_TRUE(right.warnings.empty());
  const JobInfo wrong = job(Direction::h2d, 64, 0, 1)->info();
  EXPECT_EQ(wrong.algorithm, "memcpy, NUMA node 0 instead of 1");
  EXPECT_EQ(wrong.warnings, std::vector<std::string>{"W_NUMA_ELSEWHERE"});
  EXPECT_EQ(job(Direction::h2d, 64, std::nullopt, 1)->info().algorithm,
            "memcpy, NUMA node unknown");
  EXPECT_THROW(job(Direction::h2d, 64, 0, 1, Numa::far), Unsupported);
}

TEST_F(Transfers, TheCpuDeviceHasNone) {
  EXPECT_THROW(bench.job("micro/transfer", {}), Unsupported);
}

TEST(TransferFootprint, IsBothWaysOfEverySet) {
  const WorkloadInfo& workload = find_workload("micro/transfer");
  DeviceInfo device;
  device.kind = DeviceKind::cuda;
  device.l2_bytes = 1 << 20;
  Conditions hot;
  hot.cache = CacheMode::hot;
  const auto footprint = [&](const Conditions& conditions, const char* direction) {
    return workload.footprint(
        device, conditions,
        Params::resolve(workload.params, {{"direction", direction}, {"bytes", "1M"}}));
  };
  EXPECT_EQ(footprint(hot, "h2d"), (1u << 20) + kSpoiltBytes);
  EXPECT_EQ(footprint(hot, "both"), 2 * ((1u << 20) + kSpoiltBytes));
  EXPECT_EQ(footprint({}, "h2d"), 3 * (1u << 20) + kSpoiltBytes);  // 2 MiB between two uses
}

TEST(TransferSegments, AnUnplantedTransferIsOneCopy) {
  const auto segments = transfer_segments(1000, Fault::none, {});
  ASSERT_EQ(segments.size(), 1U);
  EXPECT_EQ(segments[0].bytes, 1000U);
}

TEST(TransferBytes, PatternsDependOnSeedAndStreamAndPoisonOnNothingElse) {
  std::vector<std::byte> a(1003), b(1003);
  const BytePattern pattern = byte_pattern(DataDist::normal, 7, 0);
  fill_bytes(a.data(), a.size(), pattern);
  EXPECT_EQ(compare_bytes(a.data(), a.size(), pattern).bad, 0U);
  EXPECT_GT(compare_bytes(a.data(), a.size(), byte_pattern(DataDist::normal, 7, 1)).bad, 900U);
  EXPECT_GT(compare_bytes(a.data(), a.size(), byte_pattern(DataDist::normal, 8, 0)).bad, 900U);
  BytePattern poison = pattern;
  poison.flip = ~0u;
  fill_bytes(b.data(), b.size(), poison);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i], ~b[i]);
  a[777] ^= std::byte{1};
  const ByteDifference found = compare_bytes(a.data(), a.size(), pattern);
  EXPECT_EQ(found.bad, 1U);
  EXPECT_EQ(found.first_bad, 777U);
}

TEST(TransferBytes, ZerosAndOnes) {
  std::vector<std::byte> bytes(8);
  fill_bytes(bytes.data(), 8, byte_pattern(DataDist::zeros, 1, 0));
  EXPECT_EQ(std::count(bytes.begin(), bytes.end(), std::byte{0}), 8);
  fill_bytes(bytes.data(), 8, byte_pattern(DataDist::ones, 1, 0));
  float one = 0;
  std::memcpy(&one, bytes.data() + 4, 4);
  EXPECT_EQ(one, 1.f);
}

}  // namespace
}  // namespace gpubench
