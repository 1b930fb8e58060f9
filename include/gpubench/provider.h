// SPDX-License-Identifier: Apache-2.0
// One dispatch rule for everything: a list of providers per op, best first.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "gpubench/device.h"
#include "gpubench/error.h"
#include "gpubench/workload.h"

namespace gpubench {

/// Yes, or the reason why not.
struct Support {
  bool ok = true;
  Reason reason = {};
  static Support yes() { return {}; }
  static Support no(std::string code, std::string message) {
    return {false, {std::move(code), std::move(message)}};
  }
};

/// A way to compute one problem, made once. Never allocates or synchronises once made.
class Plan {
 public:
  virtual ~Plan() = default;
  virtual std::size_t workspace_bytes() const = 0;
  /// Operands in the order that the op's problem header gives; workspace of workspace_bytes().
  virtual void run(Stream& stream, std::span<void* const> operands, void* workspace) = 0;
  /// Short text naming the chosen algorithm, for the report.
  virtual std::string algorithm() const { return {}; }
};

/// One way to compute an op on one kind of device.
template <class Problem>
struct Provider {
  std::string_view name;
  Support (*supports)(const DeviceInfo&, const Problem&);
  std::unique_ptr<Plan> (*plan)(Context&, const Problem&);
};

/// The first provider that supports the problem, or the one named `impl`. Pure. Throws Unsupported
/// with every provider's reason, or ConfigError where no provider has that name.
template <class Problem>
const Provider<Problem>& select(std::span<const Provider<Problem>> providers,
                                const DeviceInfo& device, const Problem& problem,
                                std::string_view impl) {
  std::string names;
  std::string reasons;
  Reason first;
  for (const auto& provider : providers) {
    names += (names.empty() ? "" : ", ") + std::string(provider.name);
    if (impl != "auto" && impl != provider.name) continue;
    const Support support = provider.supports(device, problem);
    if (support.ok) return provider;
    if (first.code.empty()) first = support.reason;
    reasons +=
        (reasons.empty() ? "" : "; ") + std::string(provider.name) + ": " + support.reason.message;
  }
  if (reasons.empty()) {
    throw ConfigError("no provider named '" + std::string(impl) + "'; there are: auto, " + names);
  }
  throw Unsupported(first.code, reasons);
}

}  // namespace gpubench
