// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include "core/suite.h"
#include "gpubench/error.h"
#include "kernels/memory/stream.h"
#include "tests/ops_fixture.h"

namespace gpubench {
namespace {

const std::vector<std::string> kKernels{"copy", "scale", "triad", "read"};
// One element; around a vector, a chunk and a tile; and enough for every SM.
const std::vector<std::string> kSizes{"4", "20", "262140", "262148", "2000004", "268435460"};

class MemoryOnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    const CudaState state = cuda_state();
    if (state.kind != CudaState::Kind::ok) GTEST_SKIP() << state.message;
    gpu = std::make_unique<TestBench>(make_cuda_device(0));
    gpu->conditions.cache = CacheMode::hot;
  }
  Check verify(const std::string& kernel, const std::string& bytes, int variant) {
    return gpu
        ->job("micro/memory",
              {{"kernel", kernel}, {"bytes", bytes}, {"variant", std::to_string(variant)}})
        ->verify(*gpu->stream);
  }
  std::unique_ptr<TestBench> gpu;
};

TEST_F(MemoryOnGpu, EveryVariantOfEveryKernelIsRightAtOddSizes) {
  for (int variant = 0; variant < kStreamVariants; ++variant) {
    for (const std::string& kernel : kKernels) {
      for (const std::string& bytes : kSizes) {
        const Check check = verify(kernel, bytes, variant);
        EXPECT_TRUE(check.passed) << kernel << " of " << bytes << ", "
                                  << " variant " << variant << ": " << check.detail;
      }
    }
  }
}

TEST_F(MemoryOnGpu, EveryPlantedFaultIsFound) {
  for (const Fault fault : kAllFaults) {
    gpu->conditions.fault = fault;
    for (const std::string& kernel : kKernels) {
      EXPECT_FALSE(verify(kernel, "2000004", 0).passed) << kernel << to_string(fault);
    }
  }
}

TEST_F(MemoryOnGpu, RotatingSetsAreAllRight) {
  gpu->conditions.cache = CacheMode::cold;
  const auto job = gpu->job("micro/memory", {{"bytes", "4MiB"}});
  EXPECT_GT(job->sets(), 2u);
  EXPECT_TRUE(job->verify(*gpu->stream).passed);
  EXPECT_EQ(job->info().impl, "own");
  EXPECT_EQ(job->info().algorithm, describe_stream_variant(StreamKernel::copy, 0));
}

}  // namespace
}  // namespace gpubench
