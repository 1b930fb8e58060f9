// SPDX-License-Identifier: Apache-2.0
#include "measure/sample_stream.h"

#include <chrono>
#include <limits>
#include <string>
#include <thread>
#include <utility>

#include "gpubench/error.h"
#include "gpubench/telemetry.h"

namespace gpubench {

void throw_hang(double hang_s) {
  throw DeviceError("E_HANG",
                    "one sample has not ended after " + std::to_string(int(hang_s)) +
                        " s: the kernel hangs or the device is lost",
                    /*sticky=*/true);
}

SampleStream::SampleStream(Device& device, Stream& stream, Job& job, BatchPlan plan, double hang_s)
    : device_(device), stream_(stream), job_(job), plan_(std::move(plan)), hang_s_(hang_s) {
  previous_ = take_event();
  previous_->record(stream_);
}

SampleStream::~SampleStream() {
  // Events of work under way may be destroyed at once: CUDA releases them when the work has passed.
}

std::unique_ptr<Event> SampleStream::take_event() {
  if (spare_.empty()) return device_.make_event();
  auto event = std::move(spare_.back());
  spare_.pop_back();
  return event;
}

void SampleStream::enqueue_batch() {
  if (plan_.graph) return plan_.graph->launch(stream_);
  for (std::size_t i = 0; i < plan_.iterations; ++i) job_.enqueue(stream_, iteration_++);
}

void SampleStream::push() {
  enqueue_batch();
  auto event = take_event();
  event->record(stream_);
  queued_.push_back(std::move(event));
}

void SampleStream::restart(bool lead_in) {
  if (lead_in && plan_.graph) {
    enqueue_batch();
  } else if (lead_in) {
    job_.enqueue(stream_, iteration_++);
  }
  previous_->record(stream_);
}

double SampleStream::next(const std::stop_token& stop) {
  if (!queued_.empty() && queued_.back()->done()) ++starved_;
  while (queued_.size() < plan_.depth) push();
  return take(stop);
}

double SampleStream::take(const std::stop_token& stop) {
  const double waiting_since = steady_seconds();
  while (!queued_.front()->done()) {
    if (stop.stop_requested()) return -std::numeric_limits<double>::infinity();
    if (steady_seconds() - waiting_since > hang_s_) throw_hang(hang_s_);
    // The queue holds several milliseconds of work, so a short sleep can't starve the device.
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  const double seconds = queued_.front()->seconds_since(*previous_);
  spare_.push_back(std::move(previous_));
  previous_ = std::move(queued_.front());
  queued_.pop_front();
  return seconds;
}

}  // namespace gpubench
