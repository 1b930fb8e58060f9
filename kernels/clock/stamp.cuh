// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/clock/stamp.h"

namespace gpubench {

__device__ inline unsigned long long read_timer_ns() {
  unsigned long long ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
  return ns;
}

__device__ inline unsigned long long read_cycles() {
  unsigned long long cycles;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(cycles)::"memory");
  return cycles;
}

__device__ inline unsigned sm_number() {
  unsigned sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  return sm;
}

/// By one thread of a block.
__device__ inline void write_stamp(ClockStamp* stamps) {
  const unsigned sm = sm_number();
  if (sm >= kMostSms) return;
  const unsigned long long ns = read_timer_ns();
  const unsigned long long cycles = read_cycles();
  // One store of 16 bytes, so that two blocks of one SM can't mix their halves.
  *reinterpret_cast<ulonglong2*>(stamps + sm) = make_ulonglong2(cycles, ns);
}

}  // namespace gpubench
