// SPDX-License-Identifier: Apache-2.0
#include "ops/support/burn_job.h"

#include <fmt/format.h>

#include <utility>

#include "gpubench/error.h"

namespace gpubench {

BurnJob::BurnJob(Device& device, Stream& stream, std::unique_ptr<Job> job)
    : device_(device), job_(std::move(job)), found_(device, sizeof(DifferingBits)) {
  for (const OutputView& view : job_->outputs(0)) expected_.emplace_back(device, view.bytes);
  if (expected_.empty()) {
    throw Unsupported("E_UNSUPPORTED_BURN", "this workload has no outputs to compare bit by bit");
  }
  const DifferingBits none;
  device_.copy_to_device(stream, found_.data(), &none, sizeof(none));
  stream.synchronize();
}

void BurnJob::enqueue(Stream& stream, std::size_t iteration) {
  job_->enqueue(stream, iteration);
  if (!kept_) return;
  const auto views = job_->outputs(iteration % job_->sets());
  for (std::size_t i = 0; i < views.size(); ++i) {
    data_backend(device_.info().kind)
        .compare_bits(stream, views[i].data, expected_[i].data(), views[i].bytes,
                      static_cast<DifferingBits*>(found_.data()));
  }
}

JobInfo BurnJob::info() const {
  JobInfo info = job_->info();
  for (const Buffer& buffer : expected_) info.memory_bytes += buffer.size();
  return info;
}

std::string BurnJob::complaint(Stream& side_stream) {
  DifferingBits found;
  device_.copy_to_host(side_stream, &found, found_.data(), sizeof(found));
  if (found.words == 0) return {};
  return fmt::format(
      "{} words of 32 bits differed between iterations of the same work, the first at byte {} of "
      "an output: silent corruption",
      found.words, found.first_byte);
}

Check BurnJob::verify(Stream& stream) {
  const std::string differing = complaint(stream);
  Check check = job_->verify(stream);
  check.reference += "; every iteration with the first, bit by bit";
  if (check.passed && !differing.empty()) {
    check.passed = false;
    check.detail = differing;
  }
  if (kept_ || !check.passed) return check;
  // The inputs of all sets are alike, so their outputs have to be.
  const auto views = job_->outputs(0);
  for (std::size_t i = 0; i < views.size(); ++i) {
    device_.copy_on_device(stream, expected_[i].data(), views[i].data, views[i].bytes);
  }
  stream.synchronize();
  kept_ = true;
  return check;
}

}  // namespace gpubench
