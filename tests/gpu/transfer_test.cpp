// SPDX-License-Identifier: Apache-2.0
#include "kernels/transfer/transfer.h"

#include <map>
#include <string>
#include <vector>

#include "gpubench/error.h"
#include "measure/sampler.h"
#include "ops/transfer/bytes.h"
#include "tests/ops_fixture.h"

namespace gpubench {
namespace {

using Values = std::map<std::string, std::string>;

class TransferOnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    const CudaState state = cuda_state();
    if (state.kind != CudaState::Kind::ok) GTEST_SKIP() << state.message;
    gpu = std::make_unique<TestBench>(make_cuda_device(0));
    gpu->conditions.cache = CacheMode::hot;
  }
  /// Every direction with every kind of host memory that goes with it.
  static std::vector<Values> kinds() {
    std::vector<Values> all;
    for (const char* direction : {"h2d", "d2h", "both"}) {
      for (const char* host : {"pinned", "pageable", "zero_copy"}) {
        if (std::string(direction) == "both" && std::string(host) == "pageable") continue;
        all.push_back({{"direction", direction}, {"host", host}});
      }
    }
    return all;
  }
  Check verify(Values values, const std::string& bytes) {
    values["bytes"] = bytes;
    return gpu->job("micro/transfer", values)->verify(*gpu->stream);
  }
  std::unique_ptr<TestBench> gpu;
};

TEST_F(TransferOnGpu, EveryKindIsRightAtOddSizes) {
  for (const Values& kind : kinds()) {
    for (const char* bytes : {"1", "17", "4096", "1000003", "33554435"}) {
      const Check check = verify(kind, bytes);
      EXPECT_TRUE(check.passed) << kind.at("direction") << " " << kind.at("host") << " " << bytes
                                << ": " << check.detail;
    }
  }
}

TEST_F(TransferOnGpu, EveryPlantedFaultIsFound) {
  for (const Fault fault : kAllFaults) {
    gpu->conditions.fault = fault;
    for (const Values& kind : kinds()) {
      EXPECT_FALSE(verify(kind, "1000003").passed)
          << kind.at("direction") << " " << kind.at("host") << " " << int(fault);
    }
  }
}

TEST_F(TransferOnGpu, RotatingBuffersAreAllRight) {
  gpu->conditions.cache = CacheMode::cold;
  const auto job = gpu->job("micro/transfer", {{"direction", "both"}, {"bytes", "4M"}});
  EXPECT_GT(job->sets(), 2u);
  const Check check = job->verify(*gpu->stream);
  EXPECT_TRUE(check.passed) << check.detail;
}

TEST_F(TransferOnGpu, DeviceAndHostMakeTheSameBytes) {
  for (const DataDist data : {DataDist::normal, DataDist::zeros, DataDist::ones}) {
    const BytePattern pattern = byte_pattern(data, 3, 1);
    constexpr std::size_t kBytes = 100'003;
    const Buffer on_device(*gpu->device, kBytes);
    launch_pattern_fill(gpu->stream->native(), on_device.bytes(), kBytes, pattern);
    std::vector<std::byte> found(kBytes);
    gpu->device->copy_to_host(*gpu->stream, found.data(), on_device.data(), kBytes);
    EXPECT_EQ(compare_bytes(found.data(), kBytes, pattern).bad, 0u);
    found[77'777] ^= std::byte{4};
    gpu->device->copy_to_device(*gpu->stream, on_device.data(), found.data(), kBytes);
    const Buffer result(*gpu->device, sizeof(ByteDifference));
    launch_pattern_compare(gpu->stream->native(), on_device.bytes(), kBytes, pattern,
                           static_cast<ByteDifference*>(result.data()));
    ByteDifference difference;
    gpu->device->copy_to_host(*gpu->stream, &difference, result.data(), sizeof(difference));
    EXPECT_EQ(difference.bad, 1u);
    EXPECT_EQ(difference.first_bad, 77'777u);
  }
}

TEST_F(TransferOnGpu, IsMeasuredAsCallsInAStream) {
  for (const Values& kind : kinds()) {
    Values values = kind;
    values["bytes"] = "64K";
    const auto job = gpu->job("micro/transfer", values);
    SamplingPolicy policy;
    policy.warmup_s = 0.01;
    policy.min_time_s = 0.02;
    policy.max_time_s = 0.1;
    const Measurement measurement =
        measure(*gpu->device, *gpu->stream, *job, policy, std::stop_token{}, nullptr);
    EXPECT_EQ(measurement.kind, "stream");
    EXPECT_FALSE(measurement.samples_s.empty());
    EXPECT_TRUE(job->verify(*gpu->stream).passed);
  }
}

}  // namespace
}  // namespace gpubench
