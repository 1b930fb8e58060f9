// SPDX-License-Identifier: Apache-2.0
// The GPU vendor's part of Libraries: src/libs/nvidia, or nothing in a build without CUDA.
#pragma once

#include <memory>
#include <vector>

#include "gpubench/device_info.h"
#include "gpubench/telemetry.h"
#include "libs/libraries.h"

namespace gpubench {

class VendorLibraries {
 public:
  virtual ~VendorLibraries() = default;
  /// driver, libcuda, cudart, cublaslt, cudnn, nccl, nvml.
  virtual std::vector<LibraryStatus> statuses(bool load_all) = 0;
  virtual CublasLtApi& cublaslt() = 0;
  virtual CudnnApi& cudnn() = 0;
  virtual NcclApi& nccl() = 0;
  virtual NvmlApi* nvml() = 0;
  /// See make_telemetry and enrich_from_nvml.
  virtual std::unique_ptr<TelemetrySource> telemetry(const DeviceInfo& device) = 0;
  virtual void enrich(DeviceInfo& device) = 0;
};

std::unique_ptr<VendorLibraries> make_vendor_libraries();

}  // namespace gpubench
