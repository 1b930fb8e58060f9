// SPDX-License-Identifier: Apache-2.0
// What NVML counts over a while: throttled time, errors, utilisation.
#pragma once

#include <memory>
#include <optional>

#include "libs/nvidia/nvml.h"

namespace gpubench {

/// What the device supports of it.
TelemetryCounters read_counters(const NvmlFunctions& nvml, nvmlDevice_t device);

/// GPU performance monitoring between two moments (Hopper and newer; not for MIG instances).
class GpmWindow {
 public:
  /// nullptr where the device or the driver has none.
  static std::unique_ptr<GpmWindow> make(const NvmlFunctions& nvml, nvmlDevice_t device);
  ~GpmWindow();
  GpmWindow(const GpmWindow&) = delete;
  GpmWindow& operator=(const GpmWindow&) = delete;

  void begin();
  /// nullopt where begin() failed, or where less than the 100 ms that NVML asks for have passed.
  std::optional<Readings> end();

 private:
  GpmWindow(const NvmlFunctions& nvml, nvmlDevice_t device);

  const NvmlFunctions& nvml_;
  nvmlDevice_t device_;
  nvmlGpmSample_t first_ = nullptr;
  nvmlGpmSample_t second_ = nullptr;
  std::optional<double> begin_s_;
};

}  // namespace gpubench
