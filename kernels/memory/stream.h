// SPDX-License-Identifier: Apache-2.0
// Device memory bandwidth: copy, scale, triad and read of FP32 arrays, in 16-byte accesses with
// several independent loads in flight per thread. `stream` is a cudaStream_t, arrays are aligned to
// 16 bytes.
#pragma once

#include <cstdint>
#include <string>

namespace gpubench {

enum class StreamKernel {
  copy,   ///< out = a
  scale,  ///< out = s a
  triad,  ///< out = a + s b
  read    ///< out[i] = sum of a's i-th chunk of kReadChunk elements
};

/// Elements (256 KiB) that `read` reduces to one sum: writes nearly nothing, yet every element is
/// verified.
constexpr std::uint64_t kReadChunk = 1 << 16;

/// Launch shapes that can be tried; 0 is the one measured fastest for each kernel.
constexpr int kStreamVariants = 9;

struct StreamArguments {
  StreamKernel kernel = StreamKernel::copy;
  const float* a = nullptr;
  const float* b = nullptr;  ///< triad only
  float* out = nullptr;
  std::uint64_t count = 0;  ///< elements of a
  float scalar = 1;
  int variant = 0;  ///< below kStreamVariants
};

/// "512 threads x 4 vectors, one tile per block, streaming".
std::string describe_stream_variant(StreamKernel kernel, int variant);
void launch_stream(void* stream, StreamArguments arguments);

}  // namespace gpubench
