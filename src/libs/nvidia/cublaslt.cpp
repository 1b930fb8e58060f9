// SPDX-License-Identifier: Apache-2.0
#include "libs/nvidia/cublaslt.h"

#include <string_view>
#include <type_traits>

#include "gpubench/error.h"

namespace gpubench {
namespace {

/// `Member` is the (const) type of the pointer that is set.
template <class Member>
std::remove_cv_t<Member> symbol(const SharedLibrary& library, const char* name) {
  return library.symbol<std::remove_cv_t<Member>>(name);
}

std::string version_text(std::size_t version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

cublasLtHandle_t new_handle(const CublasLtApi& api) {
  cublasLtHandle_t handle = nullptr;
  api.check(api.create(&handle));
  return handle;
}

cublasLtMatmulDesc_t new_desc(const CublasLtApi& api, cublasComputeType_t compute_type,
                              cudaDataType_t scale_type) {
  cublasLtMatmulDesc_t desc = nullptr;
  api.check(api.matmul_desc_create(&desc, compute_type, scale_type));
  return desc;
}

cublasLtMatrixLayout_t new_layout(const CublasLtApi& api, cudaDataType_t type, std::uint64_t rows,
                                  std::uint64_t cols, std::int64_t ld) {
  cublasLtMatrixLayout_t layout = nullptr;
  api.check(api.matrix_layout_create(&layout, type, rows, cols, ld));
  return layout;
}

cublasLtMatmulPreference_t new_preference(const CublasLtApi& api) {
  cublasLtMatmulPreference_t preference = nullptr;
  api.check(api.matmul_preference_create(&preference));
  return preference;
}

}  // namespace

CublasLtApi::CublasLtApi(SharedLibrary library)
    : get_status_name(symbol<decltype(get_status_name)>(library, "cublasLtGetStatusName")),
      get_status_string(symbol<decltype(get_status_string)>(library, "cublasLtGetStatusString")),
      get_version(symbol<decltype(get_version)>(library, "cublasLtGetVersion")),
      create(symbol<decltype(create)>(library, "cublasLtCreate")),
      destroy(symbol<decltype(destroy)>(library, "cublasLtDestroy")),
      matmul(symbol<decltype(matmul)>(library, "cublasLtMatmul")),
      matmul_desc_create(symbol<decltype(matmul_desc_create)>(library, "cublasLtMatmulDescCreate")),
      matmul_desc_destroy(
          symbol<decltype(matmul_desc_destroy)>(library, "cublasLtMatmulDescDestroy")),
      matmul_desc_set_attribute(
          symbol<decltype(matmul_desc_set_attribute)>(library, "cublasLtMatmulDescSetAttribute")),
      matrix_layout_create(
          symbol<decltype(matrix_layout_create)>(library, "cublasLtMatrixLayoutCreate")),
      matrix_layout_destroy(
          symbol<decltype(matrix_layout_destroy)>(library, "cublasLtMatrixLayoutDestroy")),
      matrix_layout_set_attribute(symbol<decltype(matrix_layout_set_attribute)>(
          library, "cublasLtMatrixLayoutSetAttribute")),
      matmul_preference_create(
          symbol<decltype(matmul_preference_create)>(library, "cublasLtMatmulPreferenceCreate")),
      matmul_preference_destroy(
          symbol<decltype(matmul_preference_destroy)>(library, "cublasLtMatmulPreferenceDestroy")),
      matmul_preference_set_attribute(symbol<decltype(matmul_preference_set_attribute)>(
          library, "cublasLtMatmulPreferenceSetAttribute")),
      matmul_algo_get_heuristic(
          symbol<decltype(matmul_algo_get_heuristic)>(library, "cublasLtMatmulAlgoGetHeuristic")),
      matmul_algo_config_get_attribute(symbol<decltype(matmul_algo_config_get_attribute)>(
          library, "cublasLtMatmulAlgoConfigGetAttribute")),
      library_(std::move(library)),
      version_(version_text(get_version())) {}

void CublasLtApi::check(cublasStatus_t status, std::source_location where) const {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const std::string_view file = where.file_name();
  throw LibraryError("E_CUBLAS", std::string(get_status_name(status)) + ": " +
                                     get_status_string(status) + " (cuBLASLt " + version_ + ", " +
                                     std::string(file.substr(file.find_last_of('/') + 1)) + ":" +
                                     std::to_string(where.line()) + ")");
}

CublasLtHandle::CublasLtHandle(const CublasLtApi& api) : CublasLtOwner(api, new_handle(api)) {}

MatmulDesc::MatmulDesc(const CublasLtApi& api, cublasComputeType_t compute_type,
                       cudaDataType_t scale_type)
    : CublasLtOwner(api, new_desc(api, compute_type, scale_type)) {}

MatrixLayout::MatrixLayout(const CublasLtApi& api, cudaDataType_t type, std::uint64_t rows,
                           std::uint64_t cols, std::int64_t ld)
    : CublasLtOwner(api, new_layout(api, type, rows, cols, ld)) {}

MatmulPreference::MatmulPreference(const CublasLtApi& api)
    : CublasLtOwner(api, new_preference(api)) {}

}  // namespace gpubench
