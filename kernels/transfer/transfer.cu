// SPDX-License-Identifier: Apache-2.0
#include "kernels/common/launch.cuh"
#include "kernels/transfer/transfer.h"

namespace gpubench {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kBlockBytes = 16;
/// Loads in flight per thread: the other end of the link is some microseconds away.
constexpr int kInFlight = 4;

__device__ std::uint64_t first_index() {
  return std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}

__device__ std::uint64_t grid_stride() { return std::uint64_t{gridDim.x} * blockDim.x; }

__global__ void pattern_fill_kernel(std::byte* to, std::uint64_t bytes, BytePattern pattern) {
  const std::uint64_t blocks = (bytes + kBlockBytes - 1) / kBlockBytes;
  for (std::uint64_t i = first_index(); i < blocks; i += grid_stride()) {
    const random::Words words = pattern_block(pattern, i);
    if ((i + 1) * kBlockBytes <= bytes) {
      reinterpret_cast<uint4*>(to)[i] = {words.v[0], words.v[1], words.v[2], words.v[3]};
    } else {
      for (unsigned j = 0; i * kBlockBytes + j < bytes; ++j) {
        to[i * kBlockBytes + j] = static_cast<std::byte>(byte_of(words, j));
      }
    }
  }
}

__global__ void reset_kernel(ByteDifference* result) { *result = ByteDifference{}; }

__global__ void pattern_compare_kernel(const std::byte* found, std::uint64_t bytes,
                                       BytePattern pattern, ByteDifference* result) {
  unsigned long long bad = 0, first_bad = ~0ULL;
  const std::uint64_t blocks = (bytes + kBlockBytes - 1) / kBlockBytes;
  for (std::uint64_t i = first_index(); i < blocks; i += grid_stride()) {
    const random::Words words = pattern_block(pattern, i);
    for (unsigned j = 0; j < kBlockBytes && i * kBlockBytes + j < bytes; ++j) {
      const std::uint64_t at = i * kBlockBytes + j;
      if (found[at] == static_cast<std::byte>(byte_of(words, j))) continue;
      ++bad;
      if (at < first_bad) first_bad = at;
    }
  }
  if (bad == 0) return;
  atomicAdd(&result->bad, bad);
  atomicMin(&result->first_bad, first_bad);
}

/// `begin` to the first multiple of 16 of both sides is copied by bytes, as is what is left at the
/// end; where the sides differ in alignment, everything is.
__global__ void mapped_copy_kernel(std::byte* to, const std::byte* from, std::uint64_t head,
                                   std::uint64_t vectors, std::uint64_t bytes) {
  const auto* vectors_from = reinterpret_cast<const uint4*>(from + head);
  auto* vectors_to = reinterpret_cast<uint4*>(to + head);
  const std::uint64_t stride = grid_stride();
  std::uint64_t i = first_index();
  for (; i + (kInFlight - 1) * stride < vectors; i += kInFlight * stride) {
    uint4 values[kInFlight];
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) values[j] = __ldcs(vectors_from + i + j * stride);
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) __stcs(vectors_to + i + j * stride, values[j]);
  }
  for (; i < vectors; i += stride) __stcs(vectors_to + i, __ldcs(vectors_from + i));
  for (std::uint64_t at = first_index(); at < head; at += stride) to[at] = from[at];
  const std::uint64_t tail = head + vectors * kBlockBytes;
  for (std::uint64_t at = tail + first_index(); at < bytes; at += stride) to[at] = from[at];
}

}  // namespace

void launch_pattern_fill(void* stream, std::byte* to, std::uint64_t bytes,
                         const BytePattern& pattern) {
  if (bytes == 0) return;
  const unsigned blocks = grid_for((bytes + kBlockBytes - 1) / kBlockBytes, kThreads);
  pattern_fill_kernel<<<blocks, kThreads, 0, native_stream(stream)>>>(to, bytes, pattern);
  check_launch("pattern_fill_kernel");
}

void launch_pattern_compare(void* stream, const std::byte* found, std::uint64_t bytes,
                            const BytePattern& pattern, ByteDifference* result) {
  reset_kernel<<<1, 1, 0, native_stream(stream)>>>(result);
  check_launch("reset_kernel");
  if (bytes == 0) return;
  const unsigned blocks = grid_for((bytes + kBlockBytes - 1) / kBlockBytes, kThreads);
  pattern_compare_kernel<<<blocks, kThreads, 0, native_stream(stream)>>>(found, bytes, pattern,
                                                                         result);
  check_launch("pattern_compare_kernel");
}

void launch_mapped_copy(void* stream, std::byte* to, const std::byte* from, std::uint64_t bytes,
                        unsigned blocks) {
  if (bytes == 0) return;
  const auto misalignment = [](const void* pointer) {
    return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(pointer) % kBlockBytes);
  };
  std::uint64_t head = bytes, vectors = 0;
  if (misalignment(to) == misalignment(from)) {
    head = std::min<std::uint64_t>((kBlockBytes - misalignment(to)) % kBlockBytes, bytes);
    vectors = (bytes - head) / kBlockBytes;
  }
  const unsigned most = grid_for(std::max<std::uint64_t>(vectors, head), kCopyThreads);
  mapped_copy_kernel<<<std::min(std::max(blocks, 1u), most), kCopyThreads, 0,
                       native_stream(stream)>>>(to, from, head, vectors, bytes);
  check_launch("mapped_copy_kernel");
}

}  // namespace gpubench
