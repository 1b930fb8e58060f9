// SPDX-License-Identifier: Apache-2.0
// Every library that gpubench can do without: loaded on first use, never linked. One object per
// run, passed down; each accessor may be called from any thread.
//   libraries.cublaslt().matmul(...)   Unsupported E_LIBRARY_MISSING where there is none
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace gpubench {

class CblasApi;
class CublasLtApi;
class CudnnApi;
class NcclApi;
class NvmlApi;
class VendorLibraries;

struct LibraryStatus {
  std::string name;  ///< driver, libcuda, cudart, cublaslt, cudnn, nccl, nvml or cblas
  bool loaded = false;
  std::string version;                ///< empty where unknown
  std::string path;                   ///< file it came from; "static" for cudart
  std::string problem;                ///< why it is not loaded, and what to do
  std::vector<std::string> searched;  ///< "PLACE: reason" for each failed attempt
  std::vector<std::string> refused;   ///< those of `searched` where there is such a file
};

class Libraries {
 public:
  Libraries();
  ~Libraries();
  Libraries(const Libraries&) = delete;
  Libraries& operator=(const Libraries&) = delete;

  /// Every library in the order of the names above; with `load_all` those not used yet are tried.
  std::vector<LibraryStatus> statuses(bool load_all);

  /// Throw Unsupported E_LIBRARY_MISSING (with the places searched) where there is no such
  /// library, LibraryError where it is there but unusable.
  CublasLtApi& cublaslt();  ///< src/libs/nvidia/cublaslt.h
  CudnnApi& cudnn();        ///< src/libs/nvidia/cudnn_api.h
  NcclApi& nccl();          ///< src/libs/nvidia/nccl.h
  CblasApi& cblas();        ///< src/libs/cblas.h
  /// nullptr where there is no usable NVML; statuses() says why.
  NvmlApi* nvml();

  VendorLibraries& vendor();  ///< for src/libs itself

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gpubench
