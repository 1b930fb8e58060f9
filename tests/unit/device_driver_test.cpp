// SPDX-License-Identifier: Apache-2.0
// The diagnosis of a missing or old driver. One process: the CUDA runtime keeps the first driver
// it finds.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "device/devices.h"
#include "gpubench/error.h"

namespace gpubench {
namespace {

using Kind = CudaState::Kind;

TEST(CudaStateTest, SaysWhatIsMissingAndWhatWorks) {
  if (!GPUBENCH_HAS_CUDA) {
    EXPECT_EQ(cuda_state().kind, Kind::no_toolkit);
    EXPECT_NE(cuda_state().message.find("--device cpu"), std::string::npos);
    EXPECT_THROW(cuda_device_infos(), DeviceError);
    EXPECT_THROW(make_cuda_device(0), DeviceError);
    return;
  }
  ::setenv("GPUBENCH_LIB_PATH", GPUBENCH_FAKE_LIBS "/libcuda", 1);

  ::unsetenv("FAKE_DRIVER_VERSION");
  const CudaState stub = cuda_state();
  EXPECT_EQ(stub.kind, Kind::no_driver);
  EXPECT_NE(stub.message.find("libcuda.so.1"), std::string::npos) << stub.message;
  EXPECT_NE(stub.message.find("stub"), std::string::npos) << stub.message;

  ::setenv("FAKE_DRIVER_VERSION", "11040", 1);
  const CudaState old = cuda_state();
  EXPECT_EQ(old.kind, Kind::driver_too_old) << old.message;
  EXPECT_EQ(old.driver_version, 11040);
  EXPECT_GE(old.runtime_version, 12040);
  EXPECT_NE(old.message.find("CUDA 11.4"), std::string::npos) << old.message;
  EXPECT_NE(old.message.find("--device cpu"), std::string::npos) << old.message;
  try {
    cuda_device_infos();
    FAIL() << "no device was refused";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.code(), "E_NO_DEVICE");
    EXPECT_EQ(error.what(), old.message);
  }
}

}  // namespace
}  // namespace gpubench
