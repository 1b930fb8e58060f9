// SPDX-License-Identifier: Apache-2.0
// A scripted device whose clock advances by what the job says each iteration takes.
#pragma once

#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "gpubench/device.h"
#include "gpubench/workload.h"

namespace gpubench {

struct Clock {
  double now_s = 0;
  std::size_t graph_launches = 0;
  bool stuck = false;                               // events never get done
  std::function<double(double)> distort = nullptr;  // of elapsed times
  double tick_s = 0;                                // time stamps are whole multiples of it
  double record_s = 0;                              // what recording an event takes
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
  void record(Stream&) override {
    clock_.now_s += clock_.record_s;
    at_s_ =
        clock_.tick_s > 0 ? std::floor(clock_.now_s / clock_.tick_s) * clock_.tick_s : clock_.now_s;
  }
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

}  // namespace gpubench
