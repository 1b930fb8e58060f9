// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include "core/suite.h"
#include "gpubench/error.h"
#include "ops/memory/providers.h"
#include "tests/ops_fixture.h"

namespace gpubench {
namespace {

const std::vector<std::string> kKernels{"copy", "scale", "triad", "read"};
// One element, cut-off vectors and chunks, several chunks.
const std::vector<std::string> kSizes{"4", "262140", "262148", "2000004"};

class MemoryOnCpu : public ::testing::Test {
 protected:
  void SetUp() override { bench.conditions.cache = CacheMode::hot; }
  Check verify(const std::string& kernel, const std::string& bytes) {
    return bench.job("micro/memory", {{"kernel", kernel}, {"bytes", bytes}})->verify(*bench.stream);
  }
  TestBench bench{make_cpu_device()};
};

TEST_F(MemoryOnCpu, EveryKernelIsRightAtOddSizes) {
  for (const std::string& kernel : kKernels) {
    for (const std::string& bytes : kSizes) {
      const Check check = verify(kernel, bytes);
      EXPECT_TRUE(check.passed) << kernel << " of " << bytes << ": " << check.detail;
    }
  }
}

TEST_F(MemoryOnCpu, EveryPlantedFaultIsFound) {
  for (const Fault fault : kAllFaults) {
    bench.conditions.fault = fault;
    for (const std::string& kernel : kKernels) {
      EXPECT_FALSE(verify(kernel, "2000004").passed) << kernel << to_string(fault);
    }
  }
}

TEST_F(MemoryOnCpu, BytesAreStreamCounts) {
  const auto bytes_moved = [&](const std::string& kernel) {
    return bench.job("micro/memory", {{"kernel", kernel}, {"bytes", "1MiB"}})->work().bytes;
  };
  EXPECT_EQ(bytes_moved("copy"), 2.0 * (1 << 20));
  EXPECT_EQ(bytes_moved("scale"), 2.0 * (1 << 20));
  EXPECT_EQ(bytes_moved("triad"), 3.0 * (1 << 20));
  EXPECT_EQ(bytes_moved("read"), 1.0 * (1 << 20));
}

TEST_F(MemoryOnCpu, OwnKernelsSayWhyTheyCanNotRunHere) {
  EXPECT_ANY_THROW(bench.job("micro/memory", {{"impl", "own"}, {"bytes", "4"}}));
}

TEST(Memory, ReadSumsEachChunkOfItsInput) {
  MemoryProblem problem{.kernel = StreamKernel::read, .count = 2 * kReadChunk + 3};
  EXPECT_EQ(output_count(problem), 3u);
  std::vector<float> a(problem.count, 1.f), out(3);
  a[kReadChunk] = 5.f;
  const std::vector<void*> operands{a.data(), out.data()};
  cpu_memory_reference(stream_arguments(problem, operands));
  const auto chunk = static_cast<float>(kReadChunk);
  EXPECT_EQ(out, (std::vector<float>{chunk, chunk + 4, 3.f}));
}

}  // namespace
}  // namespace gpubench
