// SPDX-License-Identifier: Apache-2.0
// NVIDIA's libraries by their sonames, and the versions of what is linked statically or is part of
// the driver.
#include <cuda_runtime_api.h>

#include <fstream>

#include "gpubench/error.h"
#include "libs/lazy_library.h"
#include "libs/nvidia/cublaslt.h"
#include "libs/nvidia/cudnn_api.h"
#include "libs/nvidia/nccl.h"
#include "libs/nvidia/nvml.h"
#include "libs/vendor_libraries.h"
#include "util/text.h"

namespace gpubench {
namespace {

template <class Api>
std::unique_ptr<Api> make(SharedLibrary library) {
  return std::make_unique<Api>(std::move(library));
}

std::unique_ptr<ProbedLibrary> make_libcuda(SharedLibrary library) {
  int version = 0;
  if (library.symbol<int (*)(int*)>("cuDriverGetVersion")(&version) != 0) {
    throw LibraryError("E_LIBCUDA",
                       "not a working driver library (a toolkit's stub?); install the driver");
  }
  return std::make_unique<ProbedLibrary>(
      std::move(library),
      std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10));
}

LibraryStatus cudart_status() {
  LibraryStatus status;
  status.name = "cudart";
  status.loaded = true;
  status.path = "static";
  int version = 0;
  if (cudaRuntimeGetVersion(&version) == cudaSuccess) {
    status.version = std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  }
  return status;
}

class NvidiaLibraries : public VendorLibraries {
 public:
  std::vector<LibraryStatus> statuses(bool load_all) override {
    if (load_all) static_cast<void>(cublaslt_.try_get());  // before cuDNN
    const LibraryStatus nvml = nvml_.status(load_all);
    return {driver_status(),
            libcuda_.status(load_all),
            cudart_status(),
            cublaslt_.status(load_all),
            cudnn_.status(load_all),
            nccl_.status(load_all),
            nvml};
  }

  CublasLtApi& cublaslt() override { return cublaslt_.get(); }
  CudnnApi& cudnn() override {
    // cuDNN asks the loader for libcublasLt by soname and gets the one that is already there: the
    // same as every other user in this process.
    static_cast<void>(cublaslt_.try_get());
    return cudnn_.get();
  }
  NcclApi& nccl() override { return nccl_.get(); }
  NvmlApi* nvml() override { return nvml_.try_get(); }

  std::unique_ptr<TelemetrySource> telemetry(const DeviceInfo& device) override {
    const NvmlApi* api = nvml();
    return api == nullptr ? nullptr : make_nvml_telemetry(*api, device);
  }
  void enrich(DeviceInfo& device) override {
    if (const NvmlApi* api = nvml()) gpubench::enrich(device, *api);
  }

 private:
  /// The kernel driver: its file says so without any library.
  LibraryStatus driver_status() {
    LibraryStatus status;
    status.name = "driver";
    const std::string file_name = "/sys/module/nvidia/version";
    std::ifstream file(file_name);
    if (std::getline(file, status.version) && !status.version.empty()) {
      status.version = valid_utf8(status.version);
      status.path = file_name;
    } else if (nvml_.status(false).loaded) {
      status.version = nvml_.get().driver_version();
      status.path = nvml_.get().path();
    }
    status.loaded = !status.version.empty();
    if (!status.loaded) {
      status.problem = "the NVIDIA kernel driver is not loaded; install or load it";
      status.searched = {file_name + ": not there"};
    }
    return status;
  }

  const std::vector<std::string> folders_ = toolkit_folders();
  LazyLibrary<ProbedLibrary> libcuda_{"libcuda", {"libcuda.so.1"}, {}, make_libcuda};
  LazyLibrary<CublasLtApi> cublaslt_{
      "cublaslt", {"libcublasLt.so.13", "libcublasLt.so.12"}, folders_, make<CublasLtApi>};
  LazyLibrary<CudnnApi> cudnn_{"cudnn", {"libcudnn.so.9"}, folders_, [this](SharedLibrary library) {
                                 return make_cudnn_api(std::move(library), folders_);
                               }};
  LazyLibrary<NcclApi> nccl_{"nccl", {"libnccl.so.2"}, folders_, make<NcclApi>};
  LazyLibrary<NvmlApi> nvml_{"nvml", {"libnvidia-ml.so.1"}, {}, make<NvmlApi>};
};

}  // namespace

std::unique_ptr<VendorLibraries> make_vendor_libraries() {
  return std::make_unique<NvidiaLibraries>();
}

}  // namespace gpubench
