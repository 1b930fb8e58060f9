// SPDX-License-Identifier: Apache-2.0
// Telemetry of a device and what a management library adds to its description; exists in every
// build, with or without NVML.
#pragma once

#include <memory>

#include "gpubench/device_info.h"
#include "gpubench/telemetry.h"

namespace gpubench {

class Libraries;

/// Readings of this very device (joined by UUID or PCI id, never by index). nullptr for the cpu
/// device, without NVML, or where the joining is unsure. `libraries` outlives the source.
std::unique_ptr<TelemetrySource> make_telemetry(Libraries& libraries, const DeviceInfo& device);

/// Adds PCI device ids, clocks, bus width, power limits, PCIe link, ECC, MIG and compute mode where
/// NVML knows them; leaves the rest alone.
void enrich_from_nvml(Libraries& libraries, DeviceInfo& device);

}  // namespace gpubench
