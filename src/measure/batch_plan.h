// SPDX-License-Identifier: Apache-2.0
// How many iterations make a sample, and how they are launched.
#pragma once

#include "core/stopping.h"
#include "gpubench/device.h"
#include "gpubench/report.h"
#include "gpubench/workload.h"
#include "measure/sample_stream.h"

namespace gpubench {

/// Smallest step, in seconds, that is seen between the device's time stamps (an upper bound of the
/// timer's own step); 0 where no time stamp ever differed.
double timer_resolution(Device& device, Stream& stream);

/// Samples of at least policy.sample_s, and long enough that the timer's step is nothing beside
/// them. Runs the job for some milliseconds to find out.
BatchPlan plan_batch(Device& device, Stream& stream, Job& job, const SamplingPolicy& policy,
                     double timer_resolution_s);

/// What the report says of a plan.
void describe(const Device& device, const BatchPlan& plan, Measurement& measurement);

}  // namespace gpubench
