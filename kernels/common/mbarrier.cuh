// SPDX-License-Identifier: Apache-2.0
// Barriers in shared memory (mbarrier) that count arrivals of threads and bytes of the copy engine.
// Addresses are of the shared window, as shared_address() gives them. A barrier's first phase has
// parity 0; a wait for parity 1 on a new barrier passes at once, which is how producers begin.
#pragma once

#include <cstdint>

namespace gpubench {

__device__ inline std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ inline void mbarrier_init(std::uint32_t barrier, std::uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

/// After the inits, by the thread that made them, before the barrier that tells the others: the
/// copy engine and the other blocks of the cluster see them, too.
__device__ inline void mbarrier_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// One arrival, and the phase does not end before `bytes` more have been copied.
__device__ inline void mbarrier_expect(std::uint32_t barrier, std::uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

/// One arrival at the barrier at the same place in block `rank` of the cluster. For what was read:
/// it orders no writes for other blocks, which would take a fence of the whole GPU each time.
__device__ inline void mbarrier_arrive(std::uint32_t barrier, std::uint32_t rank) {
  asm volatile(
      "{\n"
      ".reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];\n"
      "}\n" ::"r"(barrier),
      "r"(rank)
      : "memory");
}

/// Returns once the phase of this parity has ended.
__device__ inline void mbarrier_wait(std::uint32_t barrier, std::uint32_t parity) {
  std::uint32_t done = 0;
  while (done == 0) {
    asm volatile(
        "{\n"
        ".reg .pred ended;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 ended, [%1], %2;\n"
        "selp.u32 %0, 1, 0, ended;\n"
        "}\n"
        : "=r"(done)
        : "r"(barrier), "r"(parity)
        : "memory");
  }
}

/// Where a ring of stages stands: which one, and the parity of its turn.
template <int kStages>
struct PipelineStage {
  int index = 0;
  std::uint32_t parity = 0;
  __device__ void advance() {
    if (++index == kStages) {
      index = 0;
      parity ^= 1;
    }
  }
};

}  // namespace gpubench
