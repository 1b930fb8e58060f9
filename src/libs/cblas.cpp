// SPDX-License-Identifier: Apache-2.0
#include "libs/cblas.h"

#include <cstdlib>
#include <limits>

#include "gpubench/error.h"
#include "util/text.h"

namespace gpubench {
namespace {

int to_int(std::size_t value) {
  if (value > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw ConfigError("a size of " + std::to_string(value) +
                      " is more than the CPU math library can take; use at most 2147483647");
  }
  return static_cast<int>(value);
}

std::string name_of(const std::string& soname) {
  if (soname.find("openblas") != std::string::npos) return "OpenBLAS";
  if (soname.find("mkl") != std::string::npos) return "MKL";
  if (soname.find("blis") != std::string::npos) return "BLIS";
  return soname;
}

/// What the library says of itself; empty where it says nothing.
std::string version_of(const SharedLibrary& library) {
  using TextFn = const char* (*)();
  for (const char* name : {"openblas_get_config", "bli_info_get_version_str"}) {
    if (const auto text = library.try_symbol<TextFn>(name)) {
      std::string version = valid_utf8(text());
      version.erase(version.find_last_not_of(' ') + 1);
      return version;
    }
  }
  using MklTextFn = void (*)(char*, int);
  if (const auto text = library.try_symbol<MklTextFn>("MKL_Get_Version_String")) {
    std::string version(200, '\0');
    text(version.data(), static_cast<int>(version.size()));
    version.erase(version.find_last_not_of(std::string(" \0", 2)) + 1);
    return valid_utf8(version);
  }
  return {};
}

}  // namespace

std::string openblas_core(bool intel, bool avx2_fma, bool avx512) {
  if (!intel || !avx2_fma) return {};
  return avx512 ? "SkylakeX" : "Haswell";
}

void choose_openblas_core() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2_fma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  const std::string core = openblas_core(__builtin_cpu_is("intel") != 0, avx2_fma, avx512);
  if (!core.empty()) ::setenv("OPENBLAS_CORETYPE", core.c_str(), /*overwrite=*/0);
#endif
}

CblasApi::CblasApi(SharedLibrary library)
    : library_(std::move(library)),
      sgemm_(library_.symbol<GemmFn<float>>("cblas_sgemm")),
      dgemm_(library_.symbol<GemmFn<double>>("cblas_dgemm")),
      name_(name_of(library_.soname())),
      version_(version_of(library_)) {
  for (const char* name :
       {"openblas_set_num_threads", "MKL_Set_Num_Threads", "bli_thread_set_num_threads"}) {
    if (set_threads_ == nullptr) set_threads_ = library_.try_symbol<SetThreadsFn>(name);
  }
}

void CblasApi::sgemm(Transpose trans_a, Transpose trans_b, std::size_t m, std::size_t n,
                     std::size_t k, float alpha, const float* a, std::size_t lda, const float* b,
                     std::size_t ldb, float beta, float* c, std::size_t ldc) const {
  sgemm_(kRowMajor, trans_a, trans_b, to_int(m), to_int(n), to_int(k), alpha, a, to_int(lda), b,
         to_int(ldb), beta, c, to_int(ldc));
}

void CblasApi::dgemm(Transpose trans_a, Transpose trans_b, std::size_t m, std::size_t n,
                     std::size_t k, double alpha, const double* a, std::size_t lda, const double* b,
                     std::size_t ldb, double beta, double* c, std::size_t ldc) const {
  dgemm_(kRowMajor, trans_a, trans_b, to_int(m), to_int(n), to_int(k), alpha, a, to_int(lda), b,
         to_int(ldb), beta, c, to_int(ldc));
}

void CblasApi::set_num_threads(int threads) const {
  if (set_threads_ != nullptr) set_threads_(threads);
}

}  // namespace gpubench
