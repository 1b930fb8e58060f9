// SPDX-License-Identifier: Apache-2.0
// What src/libs/nvidia defines, in a build without a CUDA toolkit.
#if !GPUBENCH_HAS_CUDA

#include "gpubench/error.h"
#include "libs/vendor_libraries.h"

namespace gpubench {
namespace {

constexpr const char* kProblem =
    "this executable was built without a CUDA toolkit; build it with one to use GPU libraries";

class NoVendorLibraries : public VendorLibraries {
 public:
  std::vector<LibraryStatus> statuses(bool) override {
    std::vector<LibraryStatus> all;
    for (const char* name : {"driver", "libcuda", "cudart", "cublaslt", "cudnn", "nccl", "nvml"}) {
      LibraryStatus status;
      status.name = name;
      status.problem = kProblem;
      all.push_back(status);
    }
    return all;
  }
  CublasLtApi& cublaslt() override { throw Unsupported("E_LIBRARY_MISSING", kProblem); }
  CudnnApi& cudnn() override { throw Unsupported("E_LIBRARY_MISSING", kProblem); }
  NcclApi& nccl() override { throw Unsupported("E_LIBRARY_MISSING", kProblem); }
  NvmlApi* nvml() override { return nullptr; }
  std::unique_ptr<TelemetrySource> telemetry(const DeviceInfo&) override { return nullptr; }
  void enrich(DeviceInfo&) override {}
};

}  // namespace

std::unique_ptr<VendorLibraries> make_vendor_libraries() {
  return std::make_unique<NoVendorLibraries>();
}

}  // namespace gpubench

#endif
