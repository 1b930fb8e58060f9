// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "gpubench/error.h"
#include "measure/sampler.h"
#include "tests/ops_fixture.h"

namespace gpubench {
namespace {

class LaunchOnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    const CudaState state = cuda_state();
    if (state.kind != CudaState::Kind::ok) GTEST_SKIP() << state.message;
    gpu = std::make_unique<TestBench>(make_cuda_device(0));
  }
  std::unique_ptr<Job> job(const std::string& mode, const std::string& measure,
                           const std::string& kernels, const std::string& args) {
    return gpu->job("micro/launch",
                    {{"via", mode}, {"measure", measure}, {"kernels", kernels}, {"args", args}});
  }
  std::unique_ptr<TestBench> gpu;
};

TEST_F(LaunchOnGpu, EveryKernelRunsWithItsArguments) {
  for (const char* mode : {"stream", "graph"}) {
    for (const char* args : {"8", "256", "1024", "4096"}) {
      for (const char* kernels : {"1", "37"}) {
        const Check check = job(mode, "throughput", kernels, args)->verify(*gpu->stream);
        EXPECT_TRUE(check.passed) << mode << " " << args << ": " << check.detail;
      }
    }
  }
}

TEST_F(LaunchOnGpu, EveryPlantedFaultIsFound) {
  for (const Fault fault : kAllFaults) {
    gpu->conditions.fault = fault;
    for (const char* mode : {"stream", "graph"}) {
      for (const char* args : {"8", "4096"}) {
        EXPECT_FALSE(job(mode, "throughput", "5", args)->verify(*gpu->stream).passed)
            << mode << " " << args << " " << int(fault);
      }
    }
  }
}

TEST_F(LaunchOnGpu, EachMeasureIsSampledAsItSays) {
  SamplingPolicy policy;
  policy.warmup_s = 0.01;
  policy.min_time_s = 0.02;
  policy.max_time_s = 0.1;
  for (const char* mode : {"stream", "graph"}) {
    for (const char* what : {"throughput", "enqueue", "latency"}) {
      const auto launches = job(mode, what, "3", "8");
      const Measurement measurement =
          measure(*gpu->device, *gpu->stream, *launches, policy, std::stop_token{}, nullptr);
      EXPECT_EQ(measurement.kind, std::string(what) == "throughput" ? "stream" : what) << mode;
      EXPECT_FALSE(measurement.samples_s.empty());
      EXPECT_FALSE(measurement.launch_bound);
      EXPECT_TRUE(launches->verify(*gpu->stream).passed);
    }
  }
}

}  // namespace
}  // namespace gpubench
