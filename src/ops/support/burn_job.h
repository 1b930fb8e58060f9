// SPDX-License-Identifier: Apache-2.0
// A job whose every iteration is compared bit by bit with its first: a difference is silent
// corruption, in the arithmetic, the memory or on the way.
#pragma once

#include <memory>

#include "gpubench/workload.h"
#include "ops/support/data.h"

namespace gpubench {

class BurnJob : public Job {
 public:
  /// Throws Unsupported E_UNSUPPORTED_BURN for a job that does not show its outputs.
  BurnJob(Device& device, Stream& stream, std::unique_ptr<Job> job);

  void enqueue(Stream& stream, std::size_t iteration) override;
  std::size_t sets() const override { return job_->sets(); }
  Work work() const override { return job_->work(); }
  JobInfo info() const override;
  /// The job's own check; then the bits that all iterations are compared with are kept, and what
  /// iterations until then differed in fails.
  Check verify(Stream& stream) override;
  std::string complaint(Stream& side_stream) override;
  std::vector<OutputView> outputs(std::size_t set) const override { return job_->outputs(set); }

 private:
  Device& device_;
  std::unique_ptr<Job> job_;
  std::vector<Buffer> expected_;  // one per output
  Buffer found_;                  // a DifferingBits
  bool kept_ = false;
};

}  // namespace gpubench
