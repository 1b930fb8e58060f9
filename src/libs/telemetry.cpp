// SPDX-License-Identifier: Apache-2.0
#include "libs/telemetry.h"

#include "libs/libraries.h"
#include "libs/vendor_libraries.h"

namespace gpubench {

std::unique_ptr<TelemetrySource> make_telemetry(Libraries& libraries, const DeviceInfo& device) {
  if (device.kind == DeviceKind::cpu) return nullptr;
  return libraries.vendor().telemetry(device);
}

void enrich_from_nvml(Libraries& libraries, DeviceInfo& device) {
  if (device.kind != DeviceKind::cpu) libraries.vendor().enrich(device);
}

}  // namespace gpubench
