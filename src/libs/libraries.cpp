// SPDX-License-Identifier: Apache-2.0
#include "libs/libraries.h"

#include "libs/cblas.h"
#include "libs/lazy_library.h"
#include "libs/vendor_libraries.h"

namespace gpubench {

struct Libraries::State {
  std::unique_ptr<VendorLibraries> vendor = make_vendor_libraries();
  LazyLibrary<CblasApi> cblas{
      "cblas",
      {"libopenblas.so.0", "libmkl_rt.so.2", "libblis.so.4"},
      {},
      [](SharedLibrary library) { return std::make_unique<CblasApi>(std::move(library)); }};
};

Libraries::Libraries() : state_(std::make_unique<State>()) { choose_openblas_core(); }
Libraries::~Libraries() = default;

std::vector<LibraryStatus> Libraries::statuses(bool load_all) {
  std::vector<LibraryStatus> all = state_->vendor->statuses(load_all);
  all.push_back(state_->cblas.status(load_all));
  return all;
}

CublasLtApi& Libraries::cublaslt() { return state_->vendor->cublaslt(); }
CudnnApi& Libraries::cudnn() { return state_->vendor->cudnn(); }
NcclApi& Libraries::nccl() { return state_->vendor->nccl(); }
NvmlApi* Libraries::nvml() { return state_->vendor->nvml(); }
CblasApi& Libraries::cblas() { return state_->cblas.get(); }
VendorLibraries& Libraries::vendor() { return *state_->vendor; }

}  // namespace gpubench
