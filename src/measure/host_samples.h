// SPDX-License-Identifier: Apache-2.0
// Samples by the host's clock, for jobs about the host: what its calls cost, and how long it waits.
// Each starts with nothing under way, so that neither a full queue nor earlier work is counted.
#pragma once

#include "measure/sample_stream.h"

namespace gpubench {

class HostSamples : public Samples {
 public:
  /// `timing` is enqueue or latency.
  HostSamples(Stream& stream, Job& job, Timing timing, double hang_s);
  double next(const std::stop_token& stop) override;
  std::size_t iterations() const override { return iterations_; }

 private:
  /// False where a stop was requested.
  bool wait(const std::stop_token& stop);

  Stream& stream_;
  Job& job_;
  Timing timing_;
  double hang_s_;
  std::size_t iterations_ = 1;
  std::size_t iteration_ = 0;
};

}  // namespace gpubench
