// SPDX-License-Identifier: Apache-2.0
#include "measure/device_clock.h"

#include <algorithm>
#include <vector>

#include "core/statistics.h"

namespace gpubench {
namespace {

/// A window of so many steps of the timer is known to half a percent.
constexpr double kLeastSteps = 200;
constexpr double kLongestS = 1;

bool is_set(const ClockStamp& stamp) { return stamp.cycles != 0 && stamp.ns != 0; }

}  // namespace

std::optional<double> clock_between(std::span<const ClockStamp> begin,
                                    std::span<const ClockStamp> end) {
  std::vector<double> clocks;
  for (std::size_t sm = 0; sm < std::min(begin.size(), end.size()); ++sm) {
    const ClockStamp &first = begin[sm], &last = end[sm];
    if (!is_set(first) || !is_set(last)) continue;
    if (last.cycles <= first.cycles || last.ns <= first.ns) continue;
    clocks.push_back(double(last.cycles - first.cycles) / double(last.ns - first.ns) * 1e3);
  }
  if (clocks.empty()) return std::nullopt;
  return median(clocks);
}

ClockProbe::ClockProbe(Device& device) : device_(device) {
#if GPUBENCH_HAS_CUDA
  available_ = device.info().kind == DeviceKind::cuda;
#endif
  if (!available_) return;
  begin_ = Buffer(device_, kMostSms * sizeof(ClockStamp));
  end_ = Buffer(device_, kMostSms * sizeof(ClockStamp));
}

void ClockProbe::stamp([[maybe_unused]] Stream& stream, [[maybe_unused]] const Buffer& stamps) {
#if GPUBENCH_HAS_CUDA
  device_.fill_bytes(stream, stamps.data(), 0, stamps.size());
  launch_stamp(stream.native(), static_cast<ClockStamp*>(stamps.data()),
               static_cast<unsigned>(device_.info().sm_count));
#endif
}

void ClockProbe::begin(Stream& stream) {
  if (available_) stamp(stream, begin_);
}

void ClockProbe::end(Stream& stream) {
  if (available_) stamp(stream, end_);
}

std::optional<double> ClockProbe::mhz(Stream& stream) {
  if (!available_) return std::nullopt;
  std::vector<ClockStamp> begin(kMostSms), end(kMostSms);
  device_.copy_to_host(stream, begin.data(), begin_.data(), begin_.size());
  device_.copy_to_host(stream, end.data(), end_.data(), end_.size());
  return clock_between(begin, end);
}

std::optional<double> measure_device_clock([[maybe_unused]] Device& device,
                                           [[maybe_unused]] Stream& stream,
                                           [[maybe_unused]] double seconds) {
#if GPUBENCH_HAS_CUDA
  if (device.info().kind != DeviceKind::cuda) return std::nullopt;
  ClockProbe probe(device);
  const Buffer result(device, sizeof(SpinResult));
  for (double window_s = std::min(seconds, kLongestS);;) {
    probe.begin(stream);
    launch_spin(stream.native(), static_cast<unsigned long long>(window_s * 1e9),
                static_cast<unsigned>(device.info().sm_count),
                static_cast<SpinResult*>(result.data()));
    probe.end(stream);
    SpinResult spin;
    device.copy_to_host(stream, &spin, result.data(), sizeof(spin));
    if (spin.ns == 0 || spin.step_ns == 0) return std::nullopt;
    const double needed_s = kLeastSteps * double(spin.step_ns) * 1e-9;
    if (window_s >= needed_s || window_s >= kLongestS) return probe.mhz(stream);
    window_s = std::min(needed_s, kLongestS);
  }
#else
  return std::nullopt;
#endif
}

}  // namespace gpubench
