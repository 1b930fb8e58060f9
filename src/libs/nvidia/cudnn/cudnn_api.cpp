// SPDX-License-Identifier: Apache-2.0
#include "libs/nvidia/cudnn_api.h"

#include <cuda_runtime_api.h>

#include <map>
#include <mutex>
#include <optional>

#include "gpubench/error.h"
#include "libs/lazy_library.h"
#include "libs/nvidia/cudnn/forwarders.h"

namespace gpubench {
namespace {

constexpr std::size_t kOldestVersion = 90000;  // 9.0.0, the first with this numbering

std::string version_text(std::size_t version) {
  if (version < kOldestVersion) {
    return std::to_string(version / 1000) + "." + std::to_string(version / 100 % 10) + "." +
           std::to_string(version % 100);
  }
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

/// The library itself, if headers and library differ by no more than cuDNN promises to allow. Asked
/// before anything else: an older one lacks functions, which would be a less helpful error.
SharedLibrary checked(SharedLibrary library) {
  const std::size_t loaded = library.symbol<decltype(&cudnnGetVersion)>("cudnnGetVersion")();
  if (loaded >= kOldestVersion && loaded / 10000 == CUDNN_MAJOR) return library;
  throw LibraryError("E_CUDNN_VERSION", library.path() + " is cuDNN " + version_text(loaded) +
                                            ", this executable was built with the headers of " +
                                            version_text(CUDNN_VERSION) +
                                            "; set GPUBENCH_LIB_PATH to a folder with version " +
                                            std::to_string(CUDNN_MAJOR));
}

/// The compiler library of the CUDA that this cuDNN was built with. Loaded before cuDNN asks for
/// it, so that cuDNN gets the one from GPUBENCH_LIB_PATH.
std::optional<SharedLibrary> load_nvrtc(const SharedLibrary& cudnn,
                                        const std::vector<std::string>& folders) {
  const auto cudart_version =
      cudnn.symbol<decltype(&cudnnGetCudartVersion)>("cudnnGetCudartVersion");
  const std::string major = std::to_string(cudart_version() / 1000);
  LibrarySearch search = SharedLibrary::open({"libnvrtc.so." + major}, folders);
  if (search.library) pin(*search.library);
  return std::move(search.library);
}

class LoadedCudnn : public CudnnApi {
 public:
  LoadedCudnn(SharedLibrary library, const std::vector<std::string>& folders)
      : library_(checked(std::move(library))),
        nvrtc_(load_nvrtc(library_, folders)),
        table_(load_forward_table(library_, nvrtc_ ? &*nvrtc_ : nullptr)),
        create_(library_.symbol<decltype(create_)>("cudnnCreate")),
        destroy_(library_.symbol<decltype(destroy_)>("cudnnDestroy")),
        set_stream_(library_.symbol<decltype(set_stream_)>("cudnnSetStream")),
        version_(version_text(table_.get_version())) {
    install(table_);
  }
  LoadedCudnn(const LoadedCudnn&) = delete;
  LoadedCudnn& operator=(const LoadedCudnn&) = delete;
  ~LoadedCudnn() override {
    for (const auto& [device, handle] : handles_) static_cast<void>(destroy_(handle));
    uninstall(table_);
  }

  cudnnContext* handle(void* cuda_stream) override {
    int device = 0;
    const cudaError_t status = cudaGetDevice(&device);
    if (status != cudaSuccess) throw DeviceError("E_CUDA", cudaGetErrorString(status));
    const std::lock_guard lock(mutex_);
    auto found = handles_.find(device);
    if (found == handles_.end()) {
      cudnnHandle_t made = nullptr;
      check(create_(&made), "cudnnCreate");
      found = handles_.emplace(device, made).first;
    }
    check(set_stream_(found->second, static_cast<cudaStream_t>(cuda_stream)), "cudnnSetStream");
    return found->second;
  }
  const std::string& version() const override { return version_; }
  const std::string& path() const override { return library_.path(); }

 private:
  void check(cudnnStatus_t status, const char* call) const {
    if (status == CUDNN_STATUS_SUCCESS) return;
    std::string detail(512, '\0');
    table_.get_last_error_string(detail.data(), detail.size());
    detail = std::string(detail.c_str());  // up to the terminator
    throw LibraryError("E_CUDNN", std::string(call) + ": " + table_.get_error_string(status) +
                                      (detail.empty() ? "" : ": " + detail) + " (cuDNN " +
                                      version_ + ", " + library_.path() + ")");
  }

  SharedLibrary library_;
  std::optional<SharedLibrary> nvrtc_;
  ForwardTable table_;
  decltype(&cudnnCreate) create_;
  decltype(&cudnnDestroy) destroy_;
  decltype(&cudnnSetStream) set_stream_;
  std::string version_;
  std::mutex mutex_;
  std::map<int, cudnnHandle_t> handles_;  // by device
};

}  // namespace

std::unique_ptr<CudnnApi> make_cudnn_api(SharedLibrary library,
                                         const std::vector<std::string>& folders) {
  return std::make_unique<LoadedCudnn>(std::move(library), folders);
}

}  // namespace gpubench
