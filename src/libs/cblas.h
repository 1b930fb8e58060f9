// SPDX-License-Identifier: Apache-2.0
// The CPU math library: whichever of OpenBLAS, MKL or BLIS is installed, through its C interface.
#pragma once

#include <cstddef>
#include <string>

#include "util/shared_library.h"

namespace gpubench {

/// The kernels that OpenBLAS should run on such a processor, by its own name for them; empty: its
/// choice stands. It knows Intel's processors by model number, and takes SSE kernels, which are
/// several times slower, for a model that is newer than itself.
std::string openblas_core(bool intel, bool avx2_fma, bool avx512);

/// Sets OPENBLAS_CORETYPE for this process accordingly, unless it is set. Before OpenBLAS is
/// loaded, and before there are threads that read the environment.
void choose_openblas_core();

class CblasApi {
 public:
  /// Values of the C interface that all implementations share.
  enum Order : int { kRowMajor = 101, kColMajor = 102 };
  enum Transpose : int { kNoTrans = 111, kTrans = 112 };

  /// Throws LibraryError E_SYMBOL where the library has no cblas_sgemm or cblas_dgemm.
  explicit CblasApi(SharedLibrary library);

  /// Row-major C[m][n] = alpha op(A)[m][k] op(B)[k][n] + beta C. Throws ConfigError for sizes
  /// beyond the library's 32-bit integers.
  void sgemm(Transpose trans_a, Transpose trans_b, std::size_t m, std::size_t n, std::size_t k,
             float alpha, const float* a, std::size_t lda, const float* b, std::size_t ldb,
             float beta, float* c, std::size_t ldc) const;
  /// The same in FP64.
  void dgemm(Transpose trans_a, Transpose trans_b, std::size_t m, std::size_t n, std::size_t k,
             double alpha, const double* a, std::size_t lda, const double* b, std::size_t ldb,
             double beta, double* c, std::size_t ldc) const;
  /// Does nothing where the library has no such call.
  void set_num_threads(int threads) const;

  const std::string& name() const { return name_; }        ///< "OpenBLAS", "MKL", "BLIS"
  const std::string& version() const { return version_; }  ///< "OpenBLAS 0.3.21 ... SkylakeX"
  const std::string& path() const { return library_.path(); }

 private:
  template <class Real>
  using GemmFn = void (*)(int order, int trans_a, int trans_b, int m, int n, int k, Real alpha,
                          const Real* a, int lda, const Real* b, int ldb, Real beta, Real* c,
                          int ldc);
  using SetThreadsFn = void (*)(int);

  SharedLibrary library_;
  GemmFn<float> sgemm_;
  GemmFn<double> dgemm_;
  SetThreadsFn set_threads_ = nullptr;
  std::string name_, version_;
};

}  // namespace gpubench
