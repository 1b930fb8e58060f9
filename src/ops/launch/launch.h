// SPDX-License-Identifier: Apache-2.0
// What launching kernels costs: the problem and its job.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "gpubench/workload.h"
#include "kernels/launch/empty.h"

namespace gpubench {

/// stream: one call per kernel; graph: one call for all kernels of an iteration.
enum class LaunchMode { stream, graph };

struct LaunchProblem {
  LaunchMode mode = LaunchMode::stream;
  Timing measure = Timing::stream;  ///< stream: throughput; enqueue; latency
  std::int64_t kernels = 1;         ///< per iteration, one after the other
  int argument_bytes = 8;
};

/// "throughput", "enqueue" or "latency". Throws ConfigError for another name.
Timing parse_launch_measure(const std::string& name);

/// As launch_empty(); a test brings another.
using LaunchKernel = void (*)(void* stream, int argument_bytes, LaunchTally* tally,
                              LaunchFault fault);

/// Throws Unsupported on a device without launches, ConfigError for more kernels than a stream
/// queues.
std::unique_ptr<Job> make_launch_job(Context& context, const LaunchProblem& problem);
std::unique_ptr<Job> make_launch_job(Context& context, const LaunchProblem& problem,
                                     LaunchKernel kernel);

}  // namespace gpubench
