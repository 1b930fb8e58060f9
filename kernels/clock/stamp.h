// SPDX-License-Identifier: Apache-2.0
// What the SMs' own counters say: cycles of an SM beside the GPU's nanosecond timer. `stream` is a
// cudaStream_t.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpubench {

/// Read one after the other by the same thread; both 0: never written.
struct alignas(16) ClockStamp {
  unsigned long long cycles = 0;  ///< %clock64 of that SM
  unsigned long long ns = 0;      ///< %globaltimer, one for all SMs
};

/// Stamps are kept by the number of the SM; larger ones, which no GPU has today, are left out.
constexpr std::size_t kMostSms = 1024;

/// `blocks` blocks, one per SM of an idle GPU, write the stamp of the SM they run on.
void launch_stamp(void* stream, ClockStamp* stamps, unsigned blocks);

struct SpinResult {
  unsigned long long ns = 0;       ///< how far the timer went
  unsigned long long step_ns = 0;  ///< the least step it was seen to make
};

/// One warp on every SM, for at least `ns` of the timer; ends by itself if that stands still.
void launch_spin(void* stream, unsigned long long ns, unsigned blocks, SpinResult* result);

}  // namespace gpubench
