// SPDX-License-Identifier: Apache-2.0
// What tests of ops need: a device, a context, and jobs by workload name.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "device/devices.h"
#include "gpubench/workload.h"
#include "libs/libraries.h"

namespace gpubench {

/// Owns what a Context refers to. Conditions may be changed until a job is made.
struct TestBench {
  explicit TestBench(std::unique_ptr<Device> on)
      : device(std::move(on)), stream(device->make_stream()) {}

  Context context() { return {*device, *stream, libraries, conditions}; }

  /// The workload's job with these parameters, the rest at their defaults.
  std::unique_ptr<Job> job(const std::string& workload,
                           const std::map<std::string, std::string>& given) {
    const WorkloadInfo& info = find_workload(workload);
    Context with = context();
    return info.prepare(with, Params::resolve(info.params, given));
  }

  std::unique_ptr<Device> device;
  std::unique_ptr<Stream> stream;
  Libraries libraries;
  Conditions conditions;
};

constexpr Fault kAllFaults[] = {Fault::wrong_element, Fault::unwritten_tile,
                                Fault::swapped_operands, Fault::nan};

}  // namespace gpubench
