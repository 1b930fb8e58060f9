// SPDX-License-Identifier: Apache-2.0
// The sampler on a scripted device whose clock advances by what the job says each iteration takes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "core/statistics.h"
#include "gpubench/error.h"
#include "gpubench/telemetry.h"
#include "measure/sampler.h"

namespace gpubench {
namespace {

struct Clock {
  double now_s = 0;
  std::size_t graph_launches = 0;
  bool stuck = false;                               // events never get done
  std::function<double(double)> distort = nullptr;  // of elapsed times
};

class FakeStream : public Stream {
 public:
  bool idle() override { return true; }
  void synchronize() override {}
  void* native() const override { return nullptr; }
};

class FakeEvent : public Event {
 public:
  explicit FakeEvent(Clock& clock) : clock_(clock) {}
  void record(Stream&) override { at_s_ = clock_.now_s; }
  bool done() override { return !clock_.stuck; }
  double seconds_since(const Event& earlier) const override {
    const double elapsed = at_s_ - static_cast<const FakeEvent&>(earlier).at_s_;
    return clock_.distort ? clock_.distort(elapsed) : elapsed;
  }

 private:
  Clock& clock_;
  double at_s_ = 0;
};

class FakeGraph : public Graph {
 public:
  FakeGraph(Clock& clock, double seconds) : clock_(clock), seconds_(seconds) {}
  void launch(Stream&) override {
    clock_.now_s += seconds_;
    ++clock_.graph_launches;
  }

 private:
  Clock& clock_;
  double seconds_;
};

class FakeDevice : public Device {
 public:
  FakeDevice(Clock& clock, bool graphs) : clock_(clock), graphs_(graphs) {
    info_.kind = DeviceKind::cuda;
  }
  const DeviceInfo& info() const override { return info_; }
  void activate() override {}
  std::unique_ptr<Stream> make_stream() override { return std::make_unique<FakeStream>(); }
  std::unique_ptr<Event> make_event() override { return std::make_unique<FakeEvent>(clock_); }
  std::unique_ptr<Graph> capture(Stream&, const std::function<void()>& enqueue) override {
    if (!graphs_) return nullptr;
    const double before = clock_.now_s;
    enqueue();
    const double seconds = clock_.now_s - before;
    clock_.now_s = before;
    return std::make_unique<FakeGraph>(clock_, seconds);
  }
  void* allocate(std::size_t bytes) override {
    return std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  }
  void release(void* memory) noexcept override { std::free(memory); }
  void copy_to_device(Stream&, void*, const void*, std::size_t) override {}
  void copy_to_host(Stream&, void*, const void*, std::size_t) override {}
  void copy_on_device(Stream&, void*, const void*, std::size_t) override {}
  void fill_bytes(Stream&, void*, int, std::size_t) override {}
  MemoryState memory() override { return {}; }
  bool recover() noexcept override { return true; }

 private:
  Clock& clock_;
  bool graphs_;
  DeviceInfo info_;
};

class FakeJob : public Job {
 public:
  FakeJob(Clock& clock, std::function<double(std::size_t)> seconds, std::size_t sets = 1)
      : clock_(clock), seconds_(std::move(seconds)), sets_(sets) {}
  void enqueue(Stream&, std::size_t iteration) override {
    clock_.now_s += seconds_(iteration);
    ++count_;
    seen_.resize(sets_);
    ++seen_[iteration % sets_];
  }
  std::size_t sets() const override { return sets_; }
  Work work() const override { return {}; }
  JobInfo info() const override { return {.impl = "fake"}; }
  Check verify(Stream&) override { return {}; }
  Timing timing() const override { return timed_as; }

  Timing timed_as = Timing::queued;

  std::size_t count() const { return count_; }
  const std::vector<std::size_t>& seen() const { return seen_; }

 private:
  Clock& clock_;
  std::function<double(std::size_t)> seconds_;
  std::size_t sets_;
  std::size_t count_ = 0;
  std::vector<std::size_t> seen_;
};

SamplingPolicy quick_policy() {
  SamplingPolicy policy;
  policy.warmup_s = 0.5;
  policy.min_time_s = 0.2;
  policy.max_time_s = 2;
  policy.max_noise = 0.01;
  policy.min_samples = 10;
  policy.max_samples = 2000;
  return policy;
}

Measurement run(Clock& clock, Job& job, const SamplingPolicy& policy, bool graphs = true,
                double hang_s = 60) {
  FakeDevice device(clock, graphs);
  FakeStream stream;
  return measure(device, stream, job, policy, std::stop_token{}, nullptr, hang_s);
}

TEST(Sampler, LongIterationsAreSampledOneByOne) {
  Clock clock;
  FakeJob job(clock, [](std::size_t) { return 5e-3; });
  const Measurement measurement = run(clock, job, quick_policy());
  EXPECT_EQ(measurement.kind, "stream");
  EXPECT_EQ(measurement.batch, 1);
  EXPECT_EQ(measurement.stop, "noise");
  EXPECT_NEAR(median(measurement.samples_s), 5e-3, 1e-9);
  EXPECT_GE(measurement.samples_s.size(), 40U);  // min_time_s of device time
}

TEST(Sampler, ShortIterationsAreBatchedToAMillisecond) {
  Clock clock;
  FakeJob job(clock, [](std::size_t) { return 210e-6; });
  const Measurement measurement = run(clock, job, quick_policy());
  EXPECT_EQ(measurement.kind, "stream");
  EXPECT_EQ(measurement.batch, 5);
  EXPECT_NEAR(median(measurement.samples_s), 210e-6, 1e-9);
}

TEST(Sampler, VeryShortIterationsBecomeAGraphOfWholeRotations) {
  Clock clock;
  FakeJob job(
      clock, [](std::size_t) { return 2e-6; }, 7);
  const Measurement measurement = run(clock, job, quick_policy());
  EXPECT_EQ(measurement.kind, "graph");
  EXPECT_GT(clock.graph_launches, 0U);
  EXPECT_EQ(measurement.batch % 7, 0);
  EXPECT_GE(double(measurement.batch) * 2e-6, 1e-3);
  EXPECT_NEAR(median(measurement.samples_s), 2e-6, 1e-9);
}

TEST(Sampler, FallsBackToTheStreamWhereThereAreNoGraphs) {
  Clock clock;
  FakeJob job(clock, [](std::size_t) { return 2e-6; });
  const Measurement measurement = run(clock, job, quick_policy(), false);
  EXPECT_EQ(measurement.kind, "stream");
  EXPECT_NEAR(median(measurement.samples_s), 2e-6, 1e-9);
}

TEST(Sampler, CallsThatAreMeasuredAsTheyAreMadeNeverBecomeAGraph) {
  Clock clock;
  FakeJob job(clock, [](std::size_t) { return 2e-6; });
  job.timed_as = Timing::stream;
  const Measurement measurement = run(clock, job, quick_policy());
  EXPECT_EQ(measurement.kind, "stream");
  EXPECT_EQ(clock.graph_launches, 0U);
  EXPECT_GE(double(measurement.batch) * 2e-6, 1e-3);
  EXPECT_NEAR(median(measurement.samples_s), 2e-6, 1e-9);
  EXPECT_FALSE(measurement.launch_bound) << "every event is done at once here";
}

/// A stream that is busy until a moment of the host's clock.
class BusyStream : public FakeStream {
 public:
  bool idle() override {
    looked_at_ += 1;
    return !stuck && steady_seconds() >= until_s;
  }
  double until_s = 0;
  bool stuck = false;
  std::size_t looked_at_ = 0;
};

/// Each call takes the host `call_s`, and what it starts another `work_s` of the device.
class CallingJob : public Job {
 public:
  CallingJob(Timing timing, BusyStream& stream, double call_s, double work_s)
      : timing_(timing), stream_(stream), call_s_(call_s), work_s_(work_s) {}
  void enqueue(Stream&, std::size_t) override {
    if (stream_.idle()) calls_while_idle += 1;
    const double end = steady_seconds() + call_s_;
    while (steady_seconds() < end) {
    }
    stream_.until_s = std::max(stream_.until_s, steady_seconds()) + work_s_;
    ++calls;
  }
  Timing timing() const override { return timing_; }
  Work work() const override { return {}; }
  JobInfo info() const override { return {.impl = "fake"}; }
  Check verify(Stream&) override { return {}; }
  std::size_t calls = 0, calls_while_idle = 0;

 private:
  Timing timing_;
  BusyStream& stream_;
  double call_s_, work_s_;
};

Measurement run_calls(CallingJob& job, BusyStream& stream, double hang_s = 60) {
  Clock clock;
  FakeDevice device(clock, true);
  SamplingPolicy policy = quick_policy();
  policy.warmup_s = 0.01;
  policy.min_time_s = 0.02;
  policy.max_time_s = 0.2;
  return measure(device, stream, job, policy, std::stop_token{}, nullptr, hang_s);
}

TEST(Sampler, LatencyLastsUntilTheHostSeesTheWorkDone) {
  BusyStream stream;
  CallingJob job(Timing::latency, stream, 10e-6, 300e-6);
  const Measurement measurement = run_calls(job, stream);
  EXPECT_EQ(measurement.kind, "latency");
  EXPECT_EQ(measurement.batch, 1);
  for (const double sample : measurement.samples_s) EXPECT_GE(sample, 310e-6);
  EXPECT_EQ(job.calls_while_idle, job.calls) << "each starts with nothing under way";
}

TEST(Sampler, EnqueueIsTheCallsAloneInBatchesOnAnIdleStream) {
  BusyStream stream;
  CallingJob job(Timing::enqueue, stream, 10e-6, 1e-3);
  const Measurement measurement = run_calls(job, stream);
  EXPECT_EQ(measurement.kind, "enqueue");
  EXPECT_GE(measurement.batch, 1);
  EXPECT_LE(measurement.batch, 64);
  const double least =
      *std::min_element(measurement.samples_s.begin(), measurement.samples_s.end());
  EXPECT_GE(least, 10e-6);
  EXPECT_LT(least, 1e-3) << "the work that the calls start is not in it";
  EXPECT_FALSE(measurement.launch_bound);
}

TEST(Sampler, AHangIsToldByTheHostsClockToo) {
  BusyStream stream;
  CallingJob job(Timing::latency, stream, 0, 0);
  stream.stuck = true;
  try {
    run_calls(job, stream, 0.05);
    FAIL() << "waited for a hung kernel";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.code(), "E_HANG");
  }
}

TEST(Sampler, RotatesThroughEverySet) {
  Clock clock;
  FakeJob job(
      clock, [](std::size_t) { return 2e-3; }, 4);
  run(clock, job, quick_policy());
  ASSERT_EQ(job.seen().size(), 4U);
  for (const std::size_t uses : job.seen()) EXPECT_GE(uses, job.count() / 4 - 2);
}

TEST(Sampler, WarmUpEndsWhenFlatAndKeepsTheSlowStartOutOfTheSamples) {
  Clock clock;
  // The first 0.3 s run at half speed, as a card that has not reached its clocks does.
  FakeJob job(clock, [&clock](std::size_t) { return clock.now_s < 0.3 ? 4e-3 : 2e-3; });
  SamplingPolicy policy = quick_policy();
  policy.warmup_s = 5;
  const Measurement measurement = run(clock, job, policy);
  EXPECT_GE(measurement.warmup_s, 0.45);
  EXPECT_LT(measurement.warmup_s, 2);
  for (const double sample : measurement.samples_s) EXPECT_NEAR(sample, 2e-3, 1e-9);
}

TEST(Sampler, UnusableTimesAreDroppedAndCounted) {
  Clock clock;
  int calls = 0;
  clock.distort = [&calls](double elapsed) { return ++calls % 5 == 0 ? -1.0 : elapsed; };
  FakeJob job(clock, [](std::size_t) { return 3e-3; });
  const Measurement measurement = run(clock, job, quick_policy());
  EXPECT_GT(measurement.dropped, 0);
  for (const double sample : measurement.samples_s) EXPECT_GT(sample, 0);
}

TEST(Sampler, ATimerThatNeverWorksIsAnErrorNotALoop) {
  for (const double value : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    Clock clock;
    clock.distort = [value](double) { return value; };
    FakeJob job(clock, [](std::size_t) { return 3e-3; });
    try {
      run(clock, job, quick_policy());
      FAIL() << "accepted a timer that returns " << value;
    } catch (const DeviceError& error) {
      EXPECT_EQ(error.code(), "E_BAD_TIMER");
    }
  }
}

TEST(Sampler, AHangIsToldAndTheDeviceGivenUp) {
  Clock clock;
  FakeJob job(clock, [](std::size_t) { return 3e-3; });
  clock.stuck = true;
  try {
    run(clock, job, quick_policy(), true, 0.05);
    FAIL() << "waited for a hung kernel";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.code(), "E_HANG");
    EXPECT_TRUE(error.sticky());
  }
}

TEST(Sampler, AStopRequestEndsSampling) {
  Clock clock;
  FakeDevice device(clock, true);
  FakeStream stream;
  std::stop_source source;
  FakeJob job(clock, [&source](std::size_t iteration) {
    if (iteration > 50) source.request_stop();
    return 3e-3;
  });
  const Measurement measurement =
      measure(device, stream, job, quick_policy(), source.get_token(), nullptr);
  EXPECT_EQ(measurement.stop, "interrupted");
}

}  // namespace
}  // namespace gpubench
