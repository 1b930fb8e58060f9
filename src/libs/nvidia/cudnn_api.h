// SPDX-License-Identifier: Apache-2.0
// cuDNN, loaded on first use. Loading it also sets up forwarders of the names that cudnn-frontend
// calls (src/libs/nvidia/cudnn/forwarders.cpp), so that the header-only library works although the
// executable links no libcudnn:
//   cudnnContext* handle = context.libraries.cudnn().handle(context.stream.native());
//   graph.build(handle, {cudnn_frontend::HeurMode_t::A});
#pragma once

#include <memory>
#include <string>
#include <vector>

struct cudnnContext;  // cudnnHandle_t is a pointer to it

namespace gpubench {

class SharedLibrary;

class CudnnApi {
 public:
  virtual ~CudnnApi() = default;
  /// The current device's handle (made on first use), its work going into the given cudaStream_t.
  /// A handle serves one thread at a time: one thread per device. Throws LibraryError E_CUDNN.
  virtual cudnnContext* handle(void* cuda_stream) = 0;
  virtual const std::string& version() const = 0;  ///< of the loaded library, "9.19.0"
  virtual const std::string& path() const = 0;
};

/// Throws LibraryError E_CUDNN_VERSION where the library does not fit the headers of this build,
/// E_SYMBOL where it lacks a function. Without cudnn.h at build time: Unsupported.
std::unique_ptr<CudnnApi> make_cudnn_api(SharedLibrary library,
                                         const std::vector<std::string>& folders);

}  // namespace gpubench
