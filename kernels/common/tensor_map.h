// SPDX-License-Identifier: Apache-2.0
// Descriptions of matrices for the copy engine (tma.cuh), made on the host. The driver's function
// is looked up through the runtime, so that nothing links libcuda.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

namespace gpubench {

/// The copy engine asks this of addresses and of the bytes between rows.
constexpr std::int64_t kTmaAlignment = 16;

struct TensorMapSpec {
  const void* data = nullptr;
  int element_bytes = 2;  ///< 1, 2 or 4: bytes are copied as they are
  std::int64_t rows = 0, columns = 0;
  std::int64_t pitch = 0;  ///< elements from a row to the next
  int box_rows = 0;        ///< at most 256
  bool stream = false;     ///< stores: no prefetch into L2
};

/// With boxes of `box_rows` rows by 128 bytes, in the 128-byte swizzle. Throws DeviceError.
CUtensorMap make_tensor_map(const TensorMapSpec& spec);

}  // namespace gpubench
