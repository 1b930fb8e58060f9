// SPDX-License-Identifier: Apache-2.0
// What an SM does per clock: a load of known size, with the clock counted by the SMs themselves.
// Operands: fma takes (b, out), tensor takes (a, b, out).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "gpubench/provider.h"
#include "kernels/clock/load.h"
#include "ops/support/operands.h"

namespace gpubench {

struct ClockProblem {
  bool tensor = false;
  std::int64_t blocks = 0;  ///< SMs
  int steps = 0;
};

/// A load that lasts at least `milliseconds` on an SM that does `kMostPerClock` of its operations
/// in each cycle at the device's highest clock; twice as long on one with half of that.
ClockProblem clock_problem(const DeviceInfo& device, bool tensor, std::int64_t milliseconds);
std::vector<Operand> clock_operands(const ClockProblem& problem);
Work clock_problem_work(const ClockProblem& problem);

/// The sums that the chains end with, from inputs and to outputs on the host, in double.
void clock_reference(const ClockProblem& problem, std::span<const float* const> inputs, float* out);

/// Launches of which the stamps are kept: with 20 ms each more than half a second.
constexpr std::size_t kClockSlots = 32;

/// Stamps of the last launches, where the load kernels leave them.
class ClockRing {
 public:
  explicit ClockRing(Device& device);
  /// For the next launch.
  ClockStamp* begin();
  ClockStamp* end();
  void advance() { ++next_; }
  /// Over the launches that are kept; waits for the stream.
  std::optional<double> mhz(Stream& stream);
  static std::uint64_t bytes() { return kClockSlots * 2 * kMostSms * sizeof(ClockStamp); }

 private:
  Device& device_;
  Buffer stamps_;  // [slot][begin, end][SM]
  std::size_t next_ = 0;
};

/// Throws Unsupported on a device without such counters.
std::unique_ptr<Job> make_clock_job(Context& context, const ClockProblem& problem);
std::uint64_t clock_footprint(const DeviceInfo& device, const Conditions& conditions,
                              const ClockProblem& problem);

}  // namespace gpubench
