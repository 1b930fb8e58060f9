// SPDX-License-Identifier: Apache-2.0
// A cuDNN of another generation (tests/fake_libs/fake_cudnn.cpp) is an error that names both.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "gpubench/error.h"
#include "libs/libraries.h"

namespace gpubench {
namespace {

class CudnnVersionTest : public testing::TestWithParam<const char*> {};

TEST_P(CudnnVersionTest, IsRefusedWithPathAndVersions) {
  if (!GPUBENCH_HAS_CUDNN) GTEST_SKIP() << "built without cudnn.h";
  ::setenv("GPUBENCH_LIB_PATH", GPUBENCH_FAKE_LIBS "/cudnn", 1);
  ::setenv("FAKE_CUDNN_VERSION", GetParam(), 1);
  Libraries libraries;
  for (int attempt = 0; attempt < 2; ++attempt) {  // the reason is remembered
    try {
      libraries.cudnn();
      FAIL() << "accepted";
    } catch (const LibraryError& error) {
      EXPECT_EQ(error.code(), "E_CUDNN_VERSION");
      const std::string message = error.what();
      EXPECT_NE(message.find("fake_libs/cudnn/libcudnn.so.9"), std::string::npos) << message;
      EXPECT_NE(message.find("GPUBENCH_LIB_PATH"), std::string::npos) << message;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OlderAndNewer, CudnnVersionTest, testing::Values("8907", "0", "100000"));

TEST(CudnnSymbolTest, RightVersionWithoutItsFunctionsIsNamed) {
  if (!GPUBENCH_HAS_CUDNN) GTEST_SKIP() << "built without cudnn.h";
  ::setenv("GPUBENCH_LIB_PATH", GPUBENCH_FAKE_LIBS "/cudnn", 1);
  ::setenv("FAKE_CUDNN_VERSION", "91900", 1);
  Libraries libraries;
  try {
    libraries.cudnn();
    FAIL() << "accepted";
  } catch (const LibraryError& error) {
    EXPECT_EQ(error.code(), "E_SYMBOL");
    EXPECT_NE(std::string(error.what()).find("no symbol cudnn"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace gpubench
