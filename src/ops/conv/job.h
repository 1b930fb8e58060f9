// SPDX-License-Identifier: Apache-2.0
// A convolution as a job: what the workload, and later models, prepare.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "gpubench/workload.h"
#include "ops/conv/problem.h"

namespace gpubench {

/// `impl` as in select(); `full_check_flops` as in conv_verification(), nullopt for the device's
/// default.
std::unique_ptr<Job> make_conv_job(Context& context, const ConvProblem& problem,
                                   const std::string& impl,
                                   std::optional<double> full_check_flops = std::nullopt);

std::uint64_t conv_footprint(const DeviceInfo& device, const Conditions& conditions,
                             const ConvProblem& problem);

}  // namespace gpubench
