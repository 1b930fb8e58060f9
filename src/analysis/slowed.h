// SPDX-License-Identifier: Apache-2.0
// Which samples were taken while the hardware slowed the device down.
#pragma once

#include "gpubench/report.h"
#include "gpubench/telemetry.h"

namespace gpubench {

/// Fills measurement.slowed from telemetry.slowdowns; leaves it null where event reasons could not
/// be read, and for cases sampled in turn (a sample's time is not known there). Samples follow each
/// other, so that their times are known to some milliseconds; readings are coarser.
void mark_slowed_samples(Measurement& measurement, const Telemetry& telemetry);

}  // namespace gpubench
