// SPDX-License-Identifier: Apache-2.0
// The CUDA device on a real GPU: streams, events, graphs, copies, and what survives an error.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <thread>
#include <vector>

#include "device/cuda/check.h"
#include "device/devices.h"
#include "device/select.h"
#include "gpubench/error.h"

namespace gpubench {
namespace {

using std::chrono::milliseconds;

/// Holds up a stream from the host until it is opened; opens at the latest when it is destroyed.
class Gate {
 public:
  explicit Gate(Stream& stream) : stream_(stream) {
    check(cudaLaunchHostFunc(
        static_cast<cudaStream_t>(stream.native()),
        [](void* gate) {
          while (!static_cast<Gate*>(gate)->open_) std::this_thread::sleep_for(milliseconds(1));
        },
        this));
  }
  ~Gate() {
    open();
    static_cast<void>(cudaStreamSynchronize(static_cast<cudaStream_t>(stream_.native())));
  }
  void open() { open_ = true; }

 private:
  Stream& stream_;
  std::atomic<bool> open_{false};
};

class CudaDeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    const CudaState state = cuda_state();
    if (state.kind != CudaState::Kind::ok) GTEST_SKIP() << state.message;
    device_ = make_cuda_device(0);
    stream_ = device_->make_stream();
  }
  std::vector<std::uint8_t> host_copy(const Buffer& buffer) {
    std::vector<std::uint8_t> host(buffer.size());
    device_->copy_to_host(*stream_, host.data(), buffer.data(), host.size());
    return host;
  }
  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
};

TEST_F(CudaDeviceTest, DescribesItself) {
  const DeviceInfo& info = device_->info();
  EXPECT_EQ(info.kind, DeviceKind::cuda);
  EXPECT_FALSE(info.name.empty());
  EXPECT_EQ(info.uuid.size(), 40u) << info.uuid;
  EXPECT_EQ(info.pci_id, normal_pci_id(info.pci_id));
  EXPECT_GE(info.cc_major, 5);
  EXPECT_GT(info.sm_count, 0);
  EXPECT_GT(info.memory_bytes, std::uint64_t{1} << 30);
  EXPECT_GT(info.l2_bytes, 0u);
  ASSERT_TRUE(info.max_sm_clock_mhz.has_value());
  EXPECT_GT(*info.max_sm_clock_mhz, 100);
  EXPECT_LT(*info.max_sm_clock_mhz, 10000);
  const auto all = cuda_device_infos();
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(parse_device_list(info.uuid, all), std::vector<int>{0});
  EXPECT_EQ(parse_device_list("0", all), std::vector<int>{0});
  const MemoryState memory = device_->memory();
  EXPECT_GT(memory.free_bytes, 0u);
  EXPECT_LE(memory.free_bytes, memory.total_bytes);
}

TEST_F(CudaDeviceTest, StreamIsBusyUntilItsWorkIsDone) {
  EXPECT_TRUE(stream_->idle());
  Gate gate(*stream_);
  EXPECT_FALSE(stream_->idle());
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "polling left an error behind";
  std::thread opener([&gate] {
    std::this_thread::sleep_for(milliseconds(20));
    gate.open();
  });
  const auto start = std::chrono::steady_clock::now();
  stream_->synchronize();
  EXPECT_GE(std::chrono::steady_clock::now() - start, milliseconds(15));
  EXPECT_TRUE(stream_->idle());
  opener.join();
}

TEST_F(CudaDeviceTest, StreamDoesNotWaitForTheDefaultStream) {
  Gate gate(*stream_);
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);  // would hang if it were blocking
  EXPECT_FALSE(stream_->idle());
}

TEST_F(CudaDeviceTest, EventsTimeTheStream) {
  const auto begin = device_->make_event();
  const auto end = device_->make_event();
  {
    begin->record(*stream_);
    Gate gate(*stream_);
    end->record(*stream_);
    EXPECT_FALSE(end->done());
    std::this_thread::sleep_for(milliseconds(20));
    gate.open();
    stream_->synchronize();
  }
  EXPECT_TRUE(begin->done());
  EXPECT_TRUE(end->done());
  EXPECT_GT(end->seconds_since(*begin), 0.010);
  EXPECT_LT(end->seconds_since(*begin), 5.0);
}

TEST_F(CudaDeviceTest, AllocationsAreAlignedAndNeverNull) {
  for (const std::size_t bytes : {0, 1, 255, 4097}) {
    const Buffer buffer(*device_, bytes);
    ASSERT_NE(buffer.data(), nullptr) << bytes;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 256, 0u);
  }
}

TEST_F(CudaDeviceTest, CopiesAreOrderedAndThePageableSideIsFreeOnReturn) {
  const std::size_t bytes = std::size_t{8} << 20;
  const Buffer a(*device_, bytes);
  const Buffer b(*device_, bytes);
  std::vector<std::uint8_t> host(bytes);
  for (std::size_t i = 0; i < bytes; ++i) host[i] = static_cast<std::uint8_t>(i * 7 + i / 256);
  const std::vector<std::uint8_t> expected = host;
  device_->fill_bytes(*stream_, a.data(), 0xAA, bytes);
  device_->copy_to_device(*stream_, a.data(), host.data(), bytes);
  std::fill(host.begin(), host.end(), std::uint8_t{0});
  device_->copy_on_device(*stream_, b.data(), a.data(), bytes);
  device_->fill_bytes(*stream_, a.data(), 0xFF, bytes);
  EXPECT_EQ(host_copy(b), expected);
  EXPECT_EQ(host_copy(a), std::vector<std::uint8_t>(bytes, 0xFF));
}

TEST_F(CudaDeviceTest, GraphReplaysWhatWasCaptured) {
  const Buffer a(*device_, 256);
  const Buffer b(*device_, 256);
  device_->fill_bytes(*stream_, a.data(), 1, 256);
  device_->fill_bytes(*stream_, b.data(), 0, 256);
  const auto graph = device_->capture(*stream_, [&] {
    device_->copy_on_device(*stream_, b.data(), a.data(), 256);
    device_->fill_bytes(*stream_, a.data(), 2, 256);
  });
  ASSERT_NE(graph, nullptr);
  EXPECT_EQ(host_copy(b).front(), 0) << "capturing must not run the work";
  graph->launch(*stream_);
  EXPECT_EQ(host_copy(b).back(), 1);
  graph->launch(*stream_);
  EXPECT_EQ(host_copy(b).back(), 2);
}

TEST_F(CudaDeviceTest, ErrorWhileCapturingEndsTheCapture) {
  EXPECT_THROW(device_->capture(*stream_, [] { throw std::runtime_error("the op failed"); }),
               std::runtime_error);
  // An operation that is forbidden while capturing invalidates the capture.
  EXPECT_THROW(device_->capture(*stream_, [this] { stream_->synchronize(); }), DeviceError);
  EXPECT_TRUE(device_->recover());
  EXPECT_TRUE(stream_->idle());
  const Buffer buffer(*device_, 256);
  device_->fill_bytes(*stream_, buffer.data(), 3, 256);
  EXPECT_EQ(host_copy(buffer).front(), 3);
}

TEST_F(CudaDeviceTest, OutOfMemoryLeavesTheDeviceUsable) {
  for (const std::size_t bytes :
       {std::size_t{device_->memory().total_bytes}, std::numeric_limits<std::size_t>::max()}) {
    try {
      device_->allocate(bytes);
      FAIL() << bytes << " bytes were given";
    } catch (const DeviceError& error) {
      EXPECT_EQ(error.code(), "E_OOM") << error.what();
      EXPECT_FALSE(error.sticky());
    }
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  }
  EXPECT_TRUE(device_->recover());
  const Buffer buffer(*device_, 4096);
  EXPECT_NE(buffer.data(), nullptr);
}

TEST_F(CudaDeviceTest, WrongArgumentIsAnErrorThatPasses) {
  try {
    check(cudaSetDevice(1 << 20));
    FAIL() << "there is no such device";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.code(), "E_CUDA");
    EXPECT_NE(std::string(error.what()).find("cudaErrorInvalidDevice"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("device_test.cpp:"), std::string::npos);
  }
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_TRUE(device_->recover());
}

TEST_F(CudaDeviceTest, HungStreamIsSeenWithoutHanging) {
  Gate gate(*stream_);
  EXPECT_FALSE(device_->recover());
  gate.open();
  stream_->synchronize();
  EXPECT_TRUE(device_->recover());
}

TEST_F(CudaDeviceTest, UnknownOrdinalIsRefused) {
  EXPECT_THROW(make_cuda_device(static_cast<int>(cuda_device_infos().size())), DeviceError);
}

}  // namespace
}  // namespace gpubench
