// SPDX-License-Identifier: Apache-2.0
// One thread per SM keeps three loads and three stores of 32 KiB under way, through six slots of
// shared memory. Large bursts in address order over all SMs keep DRAM pages open and turn the bus
// around less often than 16-byte accesses of 2048 threads do.
#include <algorithm>

#include "kernels/common/launch.cuh"
#include "kernels/memory/bulk_copy.h"

namespace gpubench {
namespace {

constexpr int kSlots = 6;
constexpr int kLoadsAhead = 3;
[[maybe_unused]] constexpr int kStoresBehind = kSlots - kLoadsAhead;
[[maybe_unused]] constexpr auto kChunkBytes = static_cast<std::uint32_t>(kBulkCopyChunk);

#if __CUDA_ARCH__ >= 900
__device__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ void load_chunk(std::uint32_t slot, const char* from, std::uint32_t barrier) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
               "r"(kChunkBytes)
               : "memory");
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(slot),
      "l"(from), "r"(kChunkBytes), "r"(barrier)
      : "memory");
}

__device__ void wait_for_load(std::uint32_t barrier, std::uint32_t parity) {
  std::uint32_t done = 0;
  while (done == 0) {
    asm volatile(
        "{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, "
        "0, p;\n}\n"
        : "=r"(done)
        : "r"(barrier), "r"(parity)
        : "memory");
  }
}

__device__ void store_chunk(char* to, std::uint32_t slot) {
  asm volatile(
      "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\ncp.async.bulk.commit_group;" ::
          "l"(to),
      "r"(slot), "r"(kChunkBytes)
      : "memory");
}
#endif

__global__ void bulk_copy_kernel(char* to, const char* from, std::uint64_t chunks) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) char slots[];
  __shared__ std::uint64_t barriers[kSlots];
  if (threadIdx.x != 0) return;
  const std::uint32_t first_slot = shared_address(slots), first_barrier = shared_address(barriers);
  for (int i = 0; i < kSlots; ++i) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(first_barrier + 8 * i) : "memory");
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  const std::uint64_t mine = blockIdx.x < chunks ? (chunks - blockIdx.x - 1) / gridDim.x + 1 : 0;
  const auto offset = [&](std::uint64_t n) {
    return (blockIdx.x + n * gridDim.x) * kBulkCopyChunk;
  };
  const auto load = [&](std::uint64_t n) {
    const auto slot = static_cast<std::uint32_t>(n % kSlots);
    load_chunk(first_slot + slot * kChunkBytes, from + offset(n), first_barrier + 8 * slot);
  };
  for (std::uint64_t n = 0; n < mine && n < kLoadsAhead; ++n) load(n);
  for (std::uint64_t n = 0; n < mine; ++n) {
    const auto slot = static_cast<std::uint32_t>(n % kSlots);
    wait_for_load(first_barrier + 8 * slot, static_cast<std::uint32_t>(n / kSlots % 2));
    store_chunk(to + offset(n), first_slot + slot * kChunkBytes);
    if (n + kLoadsAhead < mine) {
      // The slot's last store must have been read out of shared memory.
      asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kStoresBehind) : "memory");
      load(n + kLoadsAhead);
    }
  }
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
#endif
}

int attribute(cudaDeviceAttr which) {
  int device = 0, value = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&value, which, device);
  check_launch("the device query of bulk_copy_kernel");
  return value;
}

}  // namespace

bool has_bulk_copy() { return attribute(cudaDevAttrComputeCapabilityMajor) >= 9; }

void launch_bulk_copy(void* stream, void* to, const void* from, std::uint64_t chunks) {
  if (chunks == 0) return;
  constexpr int kSharedBytes = kSlots * static_cast<int>(kBulkCopyChunk);
  cudaFuncSetAttribute(bulk_copy_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes);
  const auto sms = static_cast<std::uint64_t>(attribute(cudaDevAttrMultiProcessorCount));
  const auto blocks = static_cast<unsigned>(std::min(sms, chunks));
  bulk_copy_kernel<<<blocks, 32, kSharedBytes, native_stream(stream)>>>(
      static_cast<char*>(to), static_cast<const char*>(from), chunks);
  check_launch("bulk_copy_kernel");
}

}  // namespace gpubench
