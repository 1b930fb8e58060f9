// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "gpubench/error.h"
#include "measure/device_clock.h"
#include "tests/ops_fixture.h"

namespace gpubench {
namespace {

class ClockOnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    const CudaState state = cuda_state();
    if (state.kind != CudaState::Kind::ok) GTEST_SKIP() << state.message;
    gpu = std::make_unique<TestBench>(make_cuda_device(0));
  }
  std::unique_ptr<Job> job(const std::string& kernel, const std::string& ms = "5") {
    return gpu->job("micro/clock", {{"kernel", kernel}, {"ms", ms}});
  }
  /// No clock is below a hundred MHz under load, and none is above what the device says it can do
  /// (with half a percent for the timer).
  void expect_plausible(const std::optional<double>& mhz) {
    ASSERT_TRUE(mhz.has_value());
    EXPECT_GT(*mhz, 100);
    if (const auto most = gpu->device->info().max_sm_clock_mhz) {
      EXPECT_LT(*mhz, 1.005 * *most);
    }
  }
  std::unique_ptr<TestBench> gpu;
};

TEST_F(ClockOnGpu, EveryChainIsRight) {
  for (const char* kernel : {"fma", "mma"}) {
    for (const char* ms : {"1", "25"}) {
      const Check check = job(kernel, ms)->verify(*gpu->stream);
      EXPECT_TRUE(check.passed) << kernel << " " << ms << " ms: " << check.detail;
    }
  }
}

TEST_F(ClockOnGpu, EveryPlantedFaultIsFound) {
  for (const Fault fault : kAllFaults) {
    gpu->conditions.fault = fault;
    for (const char* kernel : {"fma", "mma"}) {
      EXPECT_FALSE(job(kernel)->verify(*gpu->stream).passed) << kernel << " " << int(fault);
    }
  }
}

TEST_F(ClockOnGpu, ALoadTellsItsClock) {
  for (const char* kernel : {"fma", "mma"}) {
    const auto load = job(kernel, "20");
    EXPECT_FALSE(load->measured_clock_mhz(*gpu->stream).has_value()) << "nothing has run";
    for (std::size_t i = 0; i < 3; ++i) load->enqueue(*gpu->stream, i);
    expect_plausible(load->measured_clock_mhz(*gpu->stream));
  }
}

TEST_F(ClockOnGpu, ProbesAroundOtherWork) {
  ClockProbe probe(*gpu->device);
  const auto load = job("fma", "20");
  probe.begin(*gpu->stream);
  for (std::size_t i = 0; i < 3; ++i) load->enqueue(*gpu->stream, i);
  probe.end(*gpu->stream);
  const auto around = probe.mhz(*gpu->stream);
  expect_plausible(around);
  // Both look at the same kernels.
  EXPECT_NEAR(*around, *load->measured_clock_mhz(*gpu->stream), 0.02 * *around);
}

TEST_F(ClockOnGpu, AnIdleDeviceTellsItsClock) {
  expect_plausible(measure_device_clock(*gpu->device, *gpu->stream));
}

}  // namespace
}  // namespace gpubench
