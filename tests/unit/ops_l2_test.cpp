// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include "gpubench/error.h"
#include "ops/l2/l2.h"
#include "tests/ops_fixture.h"

namespace gpubench {
namespace {

class CacheOnCpu : public ::testing::Test {
 protected:
  std::unique_ptr<Job> job(const std::string& kernel, const std::string& bytes,
                           const std::string& passes) {
    return bench.job("micro/l2", {{"kernel", kernel}, {"bytes", bytes}, {"passes", passes}});
  }
  TestBench bench{make_cpu_device()};
};

TEST_F(CacheOnCpu, ReadsAreRightAtOddSizes) {
  // One element, around a chunk (4 KiB), several chunks and a rest.
  for (const char* bytes : {"4", "4092", "4096", "4100", "100004"}) {
    for (const char* passes : {"1", "3"}) {
      const Check check = job("read", bytes, passes)->verify(*bench.stream);
      EXPECT_TRUE(check.passed) << bytes << " x " << passes << ": " << check.detail;
    }
  }
}

TEST_F(CacheOnCpu, CopiesAreRightAtOddSizes) {
  for (const char* bytes : {"8", "8184", "8200", "4000008"}) {
    const Check check = job("copy", bytes, "1")->verify(*bench.stream);
    EXPECT_TRUE(check.passed) << bytes << ": " << check.detail;
  }
}

TEST_F(CacheOnCpu, EveryPlantedFaultIsFound) {
  for (const Fault fault : kAllFaults) {
    bench.conditions.fault = fault;
    EXPECT_FALSE(job("read", "100004", "3")->verify(*bench.stream).passed) << int(fault);
    EXPECT_FALSE(job("copy", "100008", "1")->verify(*bench.stream).passed) << int(fault);
  }
}

TEST_F(CacheOnCpu, TheSameBuffersAreUsedWhateverTheConditions) {
  bench.conditions.cache = CacheMode::cold;
  const auto read = job("read", "8192", "2");
  EXPECT_EQ(read->sets(), 1U);
  EXPECT_EQ(read->info().cache, "hot");
  for (const std::string& code : read->info().warnings) EXPECT_NE(code, "W_CACHE_RESIDENT");
}

TEST_F(CacheOnCpu, BytesArePassesOverTheWorkingSet) {
  EXPECT_EQ(job("read", "8192", "5")->work().bytes, 5 * 8192);
  EXPECT_EQ(job("copy", "8192", "1")->work().bytes, 8192);  // half read, half written
  EXPECT_EQ(job("read", "8192", "5")->work().bytes_over, "l2");
}

TEST_F(CacheOnCpu, CopiesInSeveralPassesAreForGpus) {
  EXPECT_THROW(job("copy", "8192", "2"), Unsupported);
}

TEST(CacheProblem, IsAQuarterOfTheDevicesCacheUnlessGiven) {
  DeviceInfo device;
  device.l2_bytes = 60 << 20;
  EXPECT_EQ(cache_problem(device, "read", 0, 1).count, (15u << 20) / 4);
  EXPECT_EQ(cache_problem(device, "copy", 0, 1).count, (15u << 20) / 8);
  EXPECT_EQ(cache_problem(device, "read", 4096, 1).count, 1024u);
}

TEST(CacheProblem, HasAsManyPassesAsTheDeviceNeeds) {
  DeviceInfo device;
  device.sm_count = 8;
  EXPECT_EQ(cache_problem(device, "read", 4096, 0).passes, 8u);
  EXPECT_EQ(cache_problem(device, "copy", 4096, 0).passes, 1u);
  EXPECT_EQ(cache_problem(device, "read", 4096, 3).passes, 3u);
  device.kind = DeviceKind::cuda;
  EXPECT_EQ(cache_problem(device, "copy", 4096, 0).passes, 256u);
}

TEST(CacheProblem, UnknownCacheIsSkippedWithAReason) {
  const CacheProblem problem = cache_problem({}, "read", 0, 1);
  EXPECT_EQ(problem.count, 0u);
  EXPECT_EQ(cache_footprint({}, {}, problem), 0u);
  TestBench bench{make_cpu_device()};
  Context context = bench.context();
  EXPECT_THROW(make_cache_job(context, problem, "auto"), Unsupported);
}

TEST(CacheReference, SumsEachChunkInEveryPass) {
  const std::uint64_t count = kCacheChunk + 2;
  std::vector<float> a(count, 1.f), copy(count), sums(4);
  a[kCacheChunk] = 5.f;
  cpu_cache_reference(
      {.a = a.data(), .copy = copy.data(), .sums = sums.data(), .count = count, .passes = 2});
  EXPECT_EQ(sums, (std::vector<float>{kCacheChunk, 6, kCacheChunk, 6}));
  EXPECT_EQ(copy, a);
}

}  // namespace
}  // namespace gpubench
