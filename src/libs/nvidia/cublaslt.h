// SPDX-License-Identifier: Apache-2.0
// cuBLASLt behind function pointers, and RAII for its handle and descriptors.
//   CublasLtApi& lt = context.libraries.cublaslt();
//   CublasLtHandle handle(lt);
//   MatmulDesc desc(lt, CUBLAS_COMPUTE_32F, CUDA_R_32F);
//   desc.set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
//   lt.check(lt.matmul(handle.get(), desc.get(), ...));
#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <source_location>
#include <string>
#include <utility>

#include "util/shared_library.h"

namespace gpubench {

class CublasLtApi {
 public:
  /// Throws LibraryError E_SYMBOL where the library lacks a function.
  explicit CublasLtApi(SharedLibrary library);

  const decltype(&cublasLtGetStatusName) get_status_name;
  const decltype(&cublasLtGetStatusString) get_status_string;
  const decltype(&cublasLtGetVersion) get_version;
  const decltype(&cublasLtCreate) create;
  const decltype(&cublasLtDestroy) destroy;
  const decltype(&cublasLtMatmul) matmul;
  const decltype(&cublasLtMatmulDescCreate) matmul_desc_create;
  const decltype(&cublasLtMatmulDescDestroy) matmul_desc_destroy;
  const decltype(&cublasLtMatmulDescSetAttribute) matmul_desc_set_attribute;
  const decltype(&cublasLtMatrixLayoutCreate) matrix_layout_create;
  const decltype(&cublasLtMatrixLayoutDestroy) matrix_layout_destroy;
  const decltype(&cublasLtMatrixLayoutSetAttribute) matrix_layout_set_attribute;
  const decltype(&cublasLtMatmulPreferenceCreate) matmul_preference_create;
  const decltype(&cublasLtMatmulPreferenceDestroy) matmul_preference_destroy;
  const decltype(&cublasLtMatmulPreferenceSetAttribute) matmul_preference_set_attribute;
  const decltype(&cublasLtMatmulAlgoGetHeuristic) matmul_algo_get_heuristic;
  const decltype(&cublasLtMatmulAlgoConfigGetAttribute) matmul_algo_config_get_attribute;

  /// Throws LibraryError E_CUBLAS with the library's own name of the status.
  void check(cublasStatus_t status,
             std::source_location where = std::source_location::current()) const;

  const std::string& version() const { return version_; }  ///< "13.1.0"
  const std::string& path() const { return library_.path(); }

 private:
  SharedLibrary library_;
  std::string version_;
};

/// Owns what a create function of cuBLASLt made. `Destroy` is the member that frees it.
template <class Handle, auto Destroy>
class CublasLtOwner {
 public:
  CublasLtOwner(const CublasLtApi& api, Handle handle) : api_(&api), handle_(handle) {}
  CublasLtOwner(CublasLtOwner&& other) noexcept
      : api_(other.api_), handle_(std::exchange(other.handle_, nullptr)) {}
  CublasLtOwner& operator=(CublasLtOwner&& other) noexcept {
    std::swap(api_, other.api_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~CublasLtOwner() {
    if (handle_ != nullptr) (api_->*Destroy)(handle_);
  }
  Handle get() const { return handle_; }

 protected:
  const CublasLtApi& api() const { return *api_; }

 private:
  const CublasLtApi* api_;
  Handle handle_;
};

/// Belongs to the device that is current when it is made.
class CublasLtHandle : public CublasLtOwner<cublasLtHandle_t, &CublasLtApi::destroy> {
 public:
  explicit CublasLtHandle(const CublasLtApi& api);
};

class MatmulDesc : public CublasLtOwner<cublasLtMatmulDesc_t, &CublasLtApi::matmul_desc_destroy> {
 public:
  MatmulDesc(const CublasLtApi& api, cublasComputeType_t compute_type, cudaDataType_t scale_type);
  /// `value` must have the type that the header documents for the attribute.
  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T& value,
           std::source_location where = std::source_location::current()) {
    api().check(api().matmul_desc_set_attribute(get(), attribute, &value, sizeof value), where);
  }
};

class MatrixLayout
    : public CublasLtOwner<cublasLtMatrixLayout_t, &CublasLtApi::matrix_layout_destroy> {
 public:
  /// Column-major unless CUBLASLT_MATRIX_LAYOUT_ORDER is set; `ld` in elements.
  MatrixLayout(const CublasLtApi& api, cudaDataType_t type, std::uint64_t rows, std::uint64_t cols,
               std::int64_t ld);
  template <class T>
  void set(cublasLtMatrixLayoutAttribute_t attribute, const T& value,
           std::source_location where = std::source_location::current()) {
    api().check(api().matrix_layout_set_attribute(get(), attribute, &value, sizeof value), where);
  }
};

class MatmulPreference
    : public CublasLtOwner<cublasLtMatmulPreference_t, &CublasLtApi::matmul_preference_destroy> {
 public:
  explicit MatmulPreference(const CublasLtApi& api);
  template <class T>
  void set(cublasLtMatmulPreferenceAttributes_t attribute, const T& value,
           std::source_location where = std::source_location::current()) {
    api().check(api().matmul_preference_set_attribute(get(), attribute, &value, sizeof value),
                where);
  }
};

}  // namespace gpubench
