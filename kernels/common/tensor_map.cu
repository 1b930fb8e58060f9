// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

#include <string>

#include "gpubench/error.h"
#include "kernels/common/swizzle.cuh"
#include "kernels/common/tensor_map.h"

namespace gpubench {
namespace {

using EncodeTiled = decltype(&cuTensorMapEncodeTiled);

EncodeTiled find_encode_tiled() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  constexpr unsigned kFirstVersion = 12000;
  const cudaError_t status = cudaGetDriverEntryPointByVersion(
      "cuTensorMapEncodeTiled", &function, kFirstVersion, cudaEnableDefault, &found);
#else
  const cudaError_t status =
      cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &function, cudaEnableDefault, &found);
#endif
  if (status != cudaSuccess || found != cudaDriverEntryPointSuccess || function == nullptr) {
    throw DeviceError("E_LAUNCH",
                      "the driver has no cuTensorMapEncodeTiled: sm_90 kernels need driver 525 "
                      "(CUDA 12.0) or newer");
  }
  return reinterpret_cast<EncodeTiled>(function);
}

CUtensorMapDataType words_of(int element_bytes) {
  if (element_bytes == 1) return CU_TENSOR_MAP_DATA_TYPE_UINT8;
  return element_bytes == 2 ? CU_TENSOR_MAP_DATA_TYPE_UINT16 : CU_TENSOR_MAP_DATA_TYPE_UINT32;
}

}  // namespace

CUtensorMap make_tensor_map(const TensorMapSpec& spec) {
  static const EncodeTiled encode = find_encode_tiled();
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(spec.columns),
                              static_cast<cuuint64_t>(spec.rows)};
  const cuuint64_t pitches[] = {static_cast<cuuint64_t>(spec.pitch * spec.element_bytes)};
  const cuuint32_t box[] = {static_cast<cuuint32_t>(kSwizzleRowBytes / spec.element_bytes),
                            static_cast<cuuint32_t>(spec.box_rows)};
  const cuuint32_t steps[] = {1, 1};
  CUtensorMap map;
  const CUresult result =
      encode(&map, words_of(spec.element_bytes), 2, const_cast<void*>(spec.data), sizes, pitches,
             box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
             spec.stream ? CU_TENSOR_MAP_L2_PROMOTION_NONE : CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result == CUDA_SUCCESS) return map;
  throw DeviceError("E_LAUNCH",
                    "cuTensorMapEncodeTiled refused a matrix of " + std::to_string(spec.rows) +
                        " rows of " + std::to_string(spec.columns) + ", pitch " +
                        std::to_string(spec.pitch) + ", " + std::to_string(spec.element_bytes) +
                        " bytes each: error " + std::to_string(static_cast<int>(result)));
}

}  // namespace gpubench
