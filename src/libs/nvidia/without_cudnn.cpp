// SPDX-License-Identifier: Apache-2.0
// What src/libs/nvidia/cudnn defines, in a build without cudnn.h.
#if !GPUBENCH_HAS_CUDNN

#include "gpubench/error.h"
#include "libs/nvidia/cudnn_api.h"
#include "util/shared_library.h"

namespace gpubench {

std::unique_ptr<CudnnApi> make_cudnn_api(SharedLibrary, const std::vector<std::string>&) {
  throw Unsupported("E_LIBRARY_MISSING",
                    "this executable was built without cudnn.h; install cuDNN's headers and build "
                    "again to use it");
}

}  // namespace gpubench

#endif
