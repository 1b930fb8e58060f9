// SPDX-License-Identifier: Apache-2.0
// NVML, cuBLASLt and cuDNN as they are installed beside a real GPU.
#include "libs/nvidia/nvml.h"

#include <gtest/gtest.h>

#include "device/devices.h"
#include "gpubench/error.h"
#include "libs/libraries.h"
#include "libs/nvidia/cublaslt.h"
#include "libs/nvidia/cudnn_api.h"
#include "libs/telemetry.h"

namespace gpubench {
namespace {

class VendorTest : public testing::Test {
 protected:
  void SetUp() override {
    const CudaState state = cuda_state();
    if (state.kind != CudaState::Kind::ok) GTEST_SKIP() << state.message;
    device_ = make_cuda_device(0);
  }
  std::unique_ptr<Device> device_;
  Libraries libraries_;
};

TEST_F(VendorTest, TelemetryIsJoinedToThisGpu) {
  if (libraries_.nvml() == nullptr) GTEST_SKIP() << "no usable NVML";
  const auto source = make_telemetry(libraries_, device_->info());
  ASSERT_NE(source, nullptr);
  const TelemetryReading first = source->read();
  ASSERT_TRUE(first.sm_clock_mhz.has_value());
  EXPECT_GT(*first.sm_clock_mhz, 0);
  if (first.power_w) {
    EXPECT_GT(*first.power_w, 1);
    EXPECT_LT(*first.power_w, 3000);
  }
  if (first.temperature_c) {
    EXPECT_GT(*first.temperature_c, 0);
    EXPECT_LT(*first.temperature_c, 120);
  }
  EXPECT_GE(source->read().t_s, first.t_s);
}

TEST_F(VendorTest, JoiningByPciIdAloneFindsTheSameGpu) {
  const NvmlApi* nvml = libraries_.nvml();
  if (nvml == nullptr) GTEST_SKIP() << "no usable NVML";
  DeviceInfo by_pci = device_->info();
  by_pci.uuid.clear();
  ASSERT_TRUE(nvml->find(device_->info()).has_value());
  EXPECT_EQ(nvml->find(by_pci), nvml->find(device_->info()));
  DeviceInfo unsure = device_->info();
  unsure.pci_id = "ffff:ff:1f.0";
  EXPECT_EQ(nvml->find(unsure), std::nullopt);
}

TEST_F(VendorTest, EnrichesTheDescription) {
  if (libraries_.nvml() == nullptr) GTEST_SKIP() << "no usable NVML";
  DeviceInfo info = device_->info();
  enrich_from_nvml(libraries_, info);
  ASSERT_TRUE(info.pci_device.has_value());
  EXPECT_NE(*info.pci_device, 0u);
  EXPECT_NE(*info.pci_device, 0x10deu) << "that is the vendor, not the device";
  EXPECT_EQ(info.pci_id, device_->info().pci_id);
  EXPECT_GT(info.power_limit_w.value_or(700), 10);
  EXPECT_LE(info.pcie_gen.value_or(1), info.pcie_max_gen.value_or(9));
}

TEST_F(VendorTest, CublasLtMakesItsObjects) {
  CublasLtApi* api = nullptr;
  try {
    api = &libraries_.cublaslt();
  } catch (const Unsupported& error) {
    GTEST_SKIP() << error.what();
  }
  const CublasLtHandle handle(*api);
  MatmulDesc desc(*api, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  desc.set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
  const MatrixLayout a(*api, CUDA_R_16BF, 256, 256, 256);
  MatmulPreference preference(*api);
  preference.set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::size_t{1} << 20);
  cublasLtMatmulHeuristicResult_t result{};
  int found = 0;
  api->check(api->matmul_algo_get_heuristic(handle.get(), desc.get(), a.get(), a.get(), a.get(),
                                            a.get(), preference.get(), 1, &result, &found));
  EXPECT_EQ(found, 1);
  try {
    // Far too small a buffer for the attribute.
    const char wrong = 0;
    desc.set(CUBLASLT_MATMUL_DESC_TRANSA, wrong);
    FAIL() << "accepted";
  } catch (const LibraryError& error) {
    EXPECT_EQ(error.code(), "E_CUBLAS");
    EXPECT_NE(std::string(error.what()).find("CUBLAS_STATUS_INVALID_VALUE"), std::string::npos);
  }
}

TEST_F(VendorTest, CudnnHandleIsMadeOncePerDevice) {
  CudnnApi* api = nullptr;
  try {
    api = &libraries_.cudnn();
  } catch (const Unsupported& error) {
    GTEST_SKIP() << error.what();
  }
  const auto stream = device_->make_stream();
  cudnnContext* handle = api->handle(stream->native());
  ASSERT_NE(handle, nullptr);
  EXPECT_EQ(api->handle(nullptr), handle);
  EXPECT_EQ(api->version().substr(0, 2), "9.");
}

}  // namespace
}  // namespace gpubench
