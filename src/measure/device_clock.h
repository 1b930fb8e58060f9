// SPDX-License-Identifier: Apache-2.0
// The SM clock as the device itself counts it: SM cycles over the time of the GPU's nanosecond
// timer. Works without NVML, and misses nothing between two readings. The timer is coarse on some
// GPUs (steps of 1 us are common, 1 ms were seen), so a window must be long against its step; 20 ms
// are good to 0.01 % at 1 us.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "gpubench/device.h"
#include "kernels/clock/stamp.h"

namespace gpubench {

/// Pure: MHz between two sets of stamps, by the number of the SM; the median over the SMs that both
/// have. nullopt where there is none, or the timer did not move.
std::optional<double> clock_between(std::span<const ClockStamp> begin,
                                    std::span<const ClockStamp> end);

/// The mean clock from one point of a stream to another, under whatever load runs between them:
///   probe.begin(stream); ... enqueue work ...; probe.end(stream); probe.mhz(stream)
/// Without CUDA, or on the cpu device, there is nothing to read and mhz() is nullopt.
class ClockProbe {
 public:
  explicit ClockProbe(Device& device);
  /// Neither waits.
  void begin(Stream& stream);
  void end(Stream& stream);
  /// Waits for the stream. The longer between begin and end (20 ms and more), the better.
  std::optional<double> mhz(Stream& stream);

 private:
  void stamp(Stream& stream, const Buffer& stamps);

  Device& device_;
  bool available_ = false;
  Buffer begin_, end_;  // kMostSms stamps each
};

/// The clock of an otherwise idle device, with a waiting warp on every SM, over `seconds` or as
/// much longer as the timer's step asks for (at most a second). Waits.
std::optional<double> measure_device_clock(Device& device, Stream& stream, double seconds = 0.02);

}  // namespace gpubench
