// SPDX-License-Identifier: Apache-2.0
#include "kernels/clock/stamp.cuh"
#include "kernels/common/launch.cuh"

namespace gpubench {
namespace {

constexpr unsigned kWarp = 32;
/// No GPU clocks higher: more cycles than this per nanosecond asked for, and the timer stands
/// still.
constexpr unsigned long long kMostCyclesPerNs = 5;

__global__ void stamp_kernel(ClockStamp* stamps) { write_stamp(stamps); }

__global__ void spin_kernel(unsigned long long ns, SpinResult* result) {
  const unsigned long long begin = read_timer_ns(), begin_cycles = read_cycles();
  unsigned long long now = begin, step = ~0ULL;
  while (now - begin < ns && read_cycles() - begin_cycles < ns * kMostCyclesPerNs) {
    const unsigned long long next = read_timer_ns();
    if (next != now && next - now < step) step = next - now;
    now = next;
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    result->ns = now - begin;
    result->step_ns = step == ~0ULL ? 0 : step;
  }
}

}  // namespace

void launch_stamp(void* stream, ClockStamp* stamps, unsigned blocks) {
  stamp_kernel<<<blocks, 1, 0, native_stream(stream)>>>(stamps);
  check_launch("stamp_kernel");
}

void launch_spin(void* stream, unsigned long long ns, unsigned blocks, SpinResult* result) {
  spin_kernel<<<blocks, kWarp, 0, native_stream(stream)>>>(ns, result);
  check_launch("spin_kernel");
}

}  // namespace gpubench
