// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "device/cpu/host_facts.h"
#include "device/devices.h"
#include "gpubench/error.h"

namespace gpubench {
namespace {

namespace fs = std::filesystem;

/// A folder that stands for "/" and goes when the test ends.
class FakeRoot : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("gpubench_root_" + std::to_string(::getpid()));
    fs::remove_all(root_);
  }
  void TearDown() override { fs::remove_all(root_); }
  void write(const fs::path& file, const std::string& text) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  fs::path root_;
};

TEST_F(FakeRoot, MemoryIsTheMachines) {
  write("proc/meminfo", "MemTotal:       1024 kB\nMemFree: 1 kB\nMemAvailable:    512 kB\n");
  const MemoryState state = host_memory(root_);
  EXPECT_EQ(state.total_bytes, 1024u << 10);
  EXPECT_EQ(state.free_bytes, 512u << 10);
}

TEST_F(FakeRoot, MemoryObeysTheGroupsAboveIt) {
  write("proc/meminfo", "MemTotal: 1024 kB\nMemAvailable: 1000 kB\n");
  write("proc/self/cgroup", "0::/outer/inner\n");
  write("sys/fs/cgroup/outer/memory.max", "204800\n");
  write("sys/fs/cgroup/outer/memory.current", "104800\n");
  write("sys/fs/cgroup/outer/memory.stat", "anon 1\ninactive_file 4800\n");
  write("sys/fs/cgroup/outer/inner/memory.max", "max\n");
  write("sys/fs/cgroup/outer/inner/memory.current", "7\n");
  const MemoryState state = host_memory(root_);
  EXPECT_EQ(state.total_bytes, 204800u);
  EXPECT_EQ(state.free_bytes, 104800u);  // limit - (current - what can be dropped)
}

TEST_F(FakeRoot, MemoryObeysVersionOneWherePathAndMountDiffer) {
  write("proc/meminfo", "MemTotal: 1024 kB\nMemAvailable: 1000 kB\n");
  write("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/docker/abc\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "4096\n");
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", "9000\n");
  const MemoryState state = host_memory(root_);
  EXPECT_EQ(state.total_bytes, 4096u);
  EXPECT_EQ(state.free_bytes, 0u);
}

TEST_F(FakeRoot, NamesProcessorAndLastLevelCache) {
  write("proc/cpuinfo", "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nmodel name\t: other\n");
  write("sys/devices/system/cpu/cpu0/cache/index0/level", "1\n");
  write("sys/devices/system/cpu/cpu0/cache/index0/size", "32K\n");
  write("sys/devices/system/cpu/cpu0/cache/index3/level", "3\n");
  write("sys/devices/system/cpu/cpu0/cache/index3/size", "33792K\n");
  write("sys/devices/system/cpu/cpu0/cache/index2/level", "2\n");
  write("sys/devices/system/cpu/cpu0/cache/index2/size", "1M\n");
  EXPECT_EQ(processor_name(root_), "Some CPU @ 2 GHz");
  EXPECT_EQ(last_level_cache_bytes(root_), 33792u << 10);
}

TEST_F(FakeRoot, EmptyMachineIsUnknownNotAnError) {
  EXPECT_FALSE(processor_name(root_).empty());
  EXPECT_EQ(last_level_cache_bytes(root_), 0u);
  EXPECT_EQ(host_memory(root_).total_bytes, 0u);
}

class CpuDeviceTest : public testing::Test {
 protected:
  std::unique_ptr<Device> device_ = make_cpu_device();
  std::unique_ptr<Stream> stream_ = device_->make_stream();
};

TEST_F(CpuDeviceTest, DescribesItself) {
  const DeviceInfo& info = device_->info();
  EXPECT_EQ(info.kind, DeviceKind::cpu);
  EXPECT_FALSE(info.name.empty());
  EXPECT_GE(info.sm_count, 1);
  EXPECT_GT(info.memory_bytes, std::uint64_t{64} << 20);
  EXPECT_TRUE(info.uuid.empty());
  EXPECT_FALSE(info.max_sm_clock_mhz.has_value());
}

TEST_F(CpuDeviceTest, AllocationsAreAligned) {
  for (const std::size_t bytes : {0, 1, 255, 257, 4097, 1 << 20}) {
    const Buffer buffer(*device_, bytes);
    ASSERT_NE(buffer.data(), nullptr) << bytes;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 256, 0u) << bytes;
  }
}

TEST_F(CpuDeviceTest, MoreThanThereIsIsRefusedBeforeItIsTouched) {
  const MemoryState state = device_->memory();
  EXPECT_LE(state.free_bytes, state.total_bytes);
  for (const std::size_t bytes :
       {std::size_t{state.total_bytes} + 1, std::size_t{1} << 60, static_cast<std::size_t>(-1)}) {
    try {
      device_->allocate(bytes);
      FAIL() << bytes << " bytes were given";
    } catch (const DeviceError& error) {
      EXPECT_EQ(error.code(), "E_OOM");
      EXPECT_FALSE(error.sticky());
    }
  }
  EXPECT_TRUE(device_->recover());
  const Buffer still_works(*device_, 4096);
  EXPECT_NE(still_works.data(), nullptr);
}

TEST_F(CpuDeviceTest, CopiesAndFills) {
  const std::vector<float> in = {1, 2, 3, 4};
  const Buffer a(*device_, 16);
  const Buffer b(*device_, 16);
  device_->copy_to_device(*stream_, a.data(), in.data(), 16);
  device_->copy_on_device(*stream_, b.data(), a.data(), 16);
  device_->fill_bytes(*stream_, a.data(), 0xFF, 16);
  std::vector<float> out(4);
  device_->copy_to_host(*stream_, out.data(), b.data(), 16);
  EXPECT_EQ(out, in);
  device_->copy_to_host(*stream_, out.data(), a.data(), 16);
  EXPECT_NE(out[3], out[3]);  // all bits set is NaN
  device_->copy_to_device(*stream_, nullptr, nullptr, 0);
}

TEST_F(CpuDeviceTest, EventsMeasureTime) {
  const auto begin = device_->make_event();
  const auto end = device_->make_event();
  begin->record(*stream_);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  end->record(*stream_);
  EXPECT_TRUE(end->done());
  EXPECT_GE(end->seconds_since(*begin), 0.005);
  EXPECT_LT(end->seconds_since(*begin), 5.0);
  EXPECT_LT(begin->seconds_since(*end), 0.0);
}

TEST_F(CpuDeviceTest, HasNoGraphsAndIsAlwaysIdle) {
  bool called = false;
  EXPECT_EQ(device_->capture(*stream_, [&] { called = true; }), nullptr);
  EXPECT_FALSE(called);
  EXPECT_TRUE(stream_->idle());
  EXPECT_EQ(stream_->native(), nullptr);
}

}  // namespace
}  // namespace gpubench
