// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "gpubench/error.h"
#include "tests/ops_fixture.h"

namespace gpubench {
namespace {

class CacheOnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    const CudaState state = cuda_state();
    if (state.kind != CudaState::Kind::ok) GTEST_SKIP() << state.message;
    gpu = std::make_unique<TestBench>(make_cuda_device(0));
  }
  std::unique_ptr<Job> job(const std::string& kernel, const std::string& bytes,
                           const std::string& passes) {
    return gpu->job("micro/l2", {{"kernel", kernel}, {"bytes", bytes}, {"passes", passes}});
  }
  std::unique_ptr<TestBench> gpu;
};

TEST_F(CacheOnGpu, IsRightAtOddSizes) {
  for (const char* kernel : {"read", "copy"}) {
    // One element, around a chunk (4 KiB), a cut-off vector, and enough for every warp.
    for (const char* bytes : {"8", "4096", "8184", "8200", "8216", "4000008"}) {
      for (const char* passes : {"1", "7"}) {
        const Check check = job(kernel, bytes, passes)->verify(*gpu->stream);
        EXPECT_TRUE(check.passed) << kernel << " " << bytes << " x " << passes << ": "
                                  << check.detail;
      }
    }
  }
}

TEST_F(CacheOnGpu, EveryPlantedFaultIsFound) {
  for (const Fault fault : kAllFaults) {
    gpu->conditions.fault = fault;
    for (const char* kernel : {"read", "copy"}) {
      EXPECT_FALSE(job(kernel, "4000008", "3")->verify(*gpu->stream).passed)
          << kernel << " " << int(fault);
    }
  }
}

TEST_F(CacheOnGpu, TheDefaultIsAQuarterOfTheCache) {
  const auto read = job("read", "0", "0");
  const auto l2 = static_cast<double>(gpu->device->info().l2_bytes);
  EXPECT_NEAR(read->work().bytes, 256 * l2 / 4, 256 * 4);
  EXPECT_TRUE(read->info().warnings.empty());
  const Check check = read->verify(*gpu->stream);
  EXPECT_TRUE(check.passed) << check.detail;
}

}  // namespace
}  // namespace gpubench
