// SPDX-License-Identifier: Apache-2.0
// The launch job with a kernel that is a function of the host: what counts, what is found, what is
// timed.
#include <functional>
#include <string>

#include "gpubench/error.h"
#include "ops/launch/launch.h"
#include "tests/ops_fixture.h"

namespace gpubench {
namespace {

int measured_launches = 0;
int graph_launches = 0;
bool loses_arguments = false;

/// As empty_kernel in kernels/launch/empty.cu.
void host_kernel(void*, int argument_bytes, LaunchTally* tally, LaunchFault fault) {
  if (tally == nullptr) {
    ++measured_launches;
    return;
  }
  const int count = argument_bytes - 8;
  for (int i = 0; i < count; ++i) {
    int byte = payload_byte(fault == LaunchFault::reversed_arguments ? count - 1 - i : i);
    if (fault == LaunchFault::wrong_byte && i == count / 3) byte ^= 1;
    if (!loses_arguments) tally->checksum += std::uint64_t(i + 1) * std::uint64_t(byte);
  }
  ++tally->launches;
}

class ReplayedGraph : public Graph {
 public:
  explicit ReplayedGraph(std::function<void()> work) : work_(std::move(work)) {}
  void launch(Stream&) override {
    ++graph_launches;
    work_();
  }

 private:
  std::function<void()> work_;
};

/// The cpu device, with graphs that call again what they captured.
class DeviceWithGraphs : public Device {
 public:
  const DeviceInfo& info() const override { return cpu_->info(); }
  void activate() override {}
  std::unique_ptr<Stream> make_stream() override { return cpu_->make_stream(); }
  std::unique_ptr<Event> make_event() override { return cpu_->make_event(); }
  std::unique_ptr<Graph> capture(Stream&, const std::function<void()>& enqueue) override {
    return std::make_unique<ReplayedGraph>(enqueue);
  }
  void* allocate(std::size_t bytes) override { return cpu_->allocate(bytes); }
  void release(void* memory) noexcept override { cpu_->release(memory); }
  void copy_to_device(Stream& stream, void* to, const void* from, std::size_t bytes) override {
    cpu_->copy_to_device(stream, to, from, bytes);
  }
  void copy_to_host(Stream& stream, void* to, const void* from, std::size_t bytes) override {
    cpu_->copy_to_host(stream, to, from, bytes);
  }
  void copy_on_device(Stream& stream, void* to, const void* from, std::size_t bytes) override {
    cpu_->copy_on_device(stream, to, from, bytes);
  }
  void fill_bytes(Stream& stream, void* to, int byte, std::size_t bytes) override {
    cpu_->fill_bytes(stream, to, byte, bytes);
  }
  MemoryState memory() override { return cpu_->memory(); }
  bool recover() noexcept override { return true; }

 private:
  std::unique_ptr<Device> cpu_ = make_cpu_device();
};

class Launches : public ::testing::Test {
 protected:
  void SetUp() override {
    measured_launches = graph_launches = 0;
    loses_arguments = false;
  }
  std::unique_ptr<Job> job(const LaunchProblem& problem) {
    Context context = bench.context();
    return make_launch_job(context, problem, host_kernel);
  }
  TestBench bench{std::make_unique<DeviceWithGraphs>()};
};

constexpr LaunchMode kModes[] = {LaunchMode::stream, LaunchMode::graph};

TEST_F(Launches, EveryKernelOfAnIterationIsLaunchedOnce) {
  for (const LaunchMode mode : kModes) {
    measured_launches = graph_launches = 0;
    const auto launches = job({.mode = mode, .kernels = 7});
    launches->enqueue(*bench.stream, 0);
    launches->enqueue(*bench.stream, 1);
    EXPECT_EQ(measured_launches, 14);
    EXPECT_EQ(graph_launches, mode == LaunchMode::graph ? 2 : 0);
    EXPECT_EQ(launches->work().items, 7);
    EXPECT_EQ(launches->work().item_name, "launches");
  }
}

TEST_F(Launches, AreRightWithEverySizeOfArguments) {
  for (const LaunchMode mode : kModes) {
    for (const int bytes : kArgumentBytes) {
      const Check check =
          job({.mode = mode, .kernels = 5, .argument_bytes = bytes})->verify(*bench.stream);
      EXPECT_TRUE(check.passed) << bytes << ": " << check.detail;
    }
  }
}

TEST_F(Launches, EveryPlantedFaultIsFound) {
  for (const Fault fault : kAllFaults) {
    bench.conditions.fault = fault;
    for (const LaunchMode mode : kModes) {
      for (const int bytes : kArgumentBytes) {
        const Check check =
            job({.mode = mode, .kernels = 3, .argument_bytes = bytes})->verify(*bench.stream);
        EXPECT_FALSE(check.passed) << bytes << " " << int(fault);
        EXPECT_GT(check.error, 0);
      }
    }
  }
}

TEST_F(Launches, ArgumentsThatDoNotArriveAreFound) {
  loses_arguments = true;
  EXPECT_FALSE(job({.argument_bytes = 256})->verify(*bench.stream).passed);
}

TEST_F(Launches, AreTimedAsTheMeasureSays) {
  EXPECT_EQ(job({.measure = parse_launch_measure("throughput")})->timing(), Timing::stream);
  EXPECT_EQ(job({.measure = parse_launch_measure("enqueue")})->timing(), Timing::enqueue);
  EXPECT_EQ(job({.measure = parse_launch_measure("latency")})->timing(), Timing::latency);
  EXPECT_THROW(parse_launch_measure("speed"), ConfigError);
}

TEST_F(Launches, MoreCallsThanAStreamQueuesCanNotBeTimedAlone) {
  EXPECT_THROW(job({.measure = Timing::enqueue, .kernels = 257}), ConfigError);
  EXPECT_NO_THROW(job({.measure = Timing::enqueue, .kernels = 256}));
  EXPECT_NO_THROW(job({.mode = LaunchMode::graph, .measure = Timing::enqueue, .kernels = 1000}));
}

TEST_F(Launches, TheCpuDeviceHasNone) { EXPECT_THROW(bench.job("micro/launch", {}), Unsupported); }

TEST(LaunchPayload, ChecksumIsTheSumOverTheBytes) {
  EXPECT_EQ(payload_checksum(8), 0U);
  EXPECT_EQ(payload_checksum(10), 1U * payload_byte(0) + 2U * payload_byte(1));
}

}  // namespace
}  // namespace gpubench
