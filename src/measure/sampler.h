// SPDX-License-Identifier: Apache-2.0
// Times a job: warm-up until flat, then samples without a pause until the stopping rule says so. In
// burst mode no warm-up, and every sample follows a rest, so that neither power nor heat has
// lowered the clock yet.
#pragma once

#include <functional>
#include <stop_token>

#include "core/stopping.h"
#include "gpubench/device.h"
#include "gpubench/report.h"
#include "gpubench/workload.h"

namespace gpubench {

struct SamplingProgress {
  double elapsed_s = 0;
  double median_s = 0;  ///< estimate so far; 0 while warming up
  double noise = 0;
};

/// Called a few times a second from measure().
using ProgressFn = std::function<void(const SamplingProgress&)>;

/// Seconds that the device rests before each sample in burst mode.
inline constexpr double kBurstRestS = 0.1;

/// Called when sampling begins (true) and when it has ended (false), to put something into the
/// stream there; must not wait. What it enqueues first becomes part of one sample.
using BoundaryFn = std::function<void(bool begins)>;

/// Times the job as its timing() says. Throws DeviceError E_HANG when a sample takes longer than
/// `hang_s`, DeviceError E_BAD_TIMER when the timer returns nothing usable. A requested stop ends
/// sampling with stop "interrupted".
Measurement measure(Device& device, Stream& stream, Job& job, const SamplingPolicy& policy,
                    std::stop_token stop, const ProgressFn& progress, double hang_s = 60,
                    LoadMode mode = LoadMode::sustained, const BoundaryFn& boundary = {});

}  // namespace gpubench
