// SPDX-License-Identifier: Apache-2.0
// Where the times of samples come from: for nearly all jobs an unbroken chain of batches between
// events, in which the device never waits for the host between two samples.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <stop_token>
#include <vector>

#include "gpubench/device.h"
#include "gpubench/workload.h"

namespace gpubench {

/// How a sample is made of iterations.
struct BatchPlan {
  std::size_t iterations = 1;    ///< per sample
  std::size_t depth = 1;         ///< samples queued ahead of the one that is waited for
  std::unique_ptr<Graph> graph;  ///< set: one launch of this graph is one sample
};

class Samples {
 public:
  virtual ~Samples() = default;
  /// Seconds of the next sample (all its iterations). Negative infinity when a stop was requested
  /// while waiting. Throws DeviceError E_HANG after the time it was given for that.
  virtual double next(const std::stop_token& stop) = 0;
  /// Begins a new chain: the time since the last sample, and what ran then, belongs to no sample.
  /// With `lead_in` some work that is not timed comes first, so that the host is ahead of the
  /// device when the first sample begins. Nothing may be queued.
  virtual void restart(bool lead_in) { static_cast<void>(lead_in); }
  /// Per sample.
  virtual std::size_t iterations() const = 0;
  /// Samples that found the queue empty: the device had waited for the host.
  virtual std::size_t starved() const { return 0; }
};

/// Sticky DeviceError E_HANG.
[[noreturn]] void throw_hang(double hang_s);

class SampleStream : public Samples {
 public:
  SampleStream(Device& device, Stream& stream, Job& job, BatchPlan plan, double hang_s);
  ~SampleStream() override;
  SampleStream(const SampleStream&) = delete;
  SampleStream& operator=(const SampleStream&) = delete;

  /// Keeps the queue full.
  double next(const std::stop_token& stop) override;
  /// As next(), but queues no more: for the end of a chain. Needs queued() > 0.
  double take(const std::stop_token& stop);
  std::size_t queued() const { return queued_.size(); }
  void restart(bool lead_in) override;
  std::size_t iterations() const override { return plan_.iterations; }
  std::size_t starved() const override { return starved_; }

 private:
  void push();
  void enqueue_batch();
  std::unique_ptr<Event> take_event();

  Device& device_;
  Stream& stream_;
  Job& job_;
  BatchPlan plan_;
  double hang_s_;
  std::size_t iteration_ = 0;
  std::size_t starved_ = 0;
  std::unique_ptr<Event> previous_;            // end of the last sample returned
  std::deque<std::unique_ptr<Event>> queued_;  // ends of the samples under way, oldest first
  std::vector<std::unique_ptr<Event>> spare_;
};

}  // namespace gpubench
