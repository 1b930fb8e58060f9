// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "analysis/environment.h"
#include "tests/unit/report_samples.h"

namespace gpubench {
namespace {

using Texts = std::vector<std::string>;

Texts said(const std::map<std::string, std::string>& environment,
           const std::string& compute_type = "fp32", const std::string& workload = "ops/gemm") {
  Result result = sample_gemm(700);
  result.compute_type = compute_type;
  result.workload = workload;
  return slowing_environment(environment, result);
}

TEST(Environment, HarmlessVariablesAreNotMentioned) {
  EXPECT_TRUE(said({}).empty());
  EXPECT_TRUE(said({{"CUDA_VISIBLE_DEVICES", "0"},
                    {"CUDA_LAUNCH_BLOCKING", "0"},
                    {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"},
                    {"NCCL_NVLS_ENABLE", "0"},
                    {"CUBLASLT_LOG_LEVEL", ""}})
                  .empty());
}

TEST(Environment, LaunchBlockingAndTools) {
  EXPECT_EQ(said({{"CUDA_LAUNCH_BLOCKING", "1"}}),
            Texts{"CUDA_LAUNCH_BLOCKING=1 is set: the host waits for every launch"});
  EXPECT_EQ(said({{"CUDA_INJECTION64_PATH", "/x.so"}, {"CUDNN_LOGLEVEL_DBG", "3"}}).size(), 2u);
}

TEST(Environment, TheTf32OverrideConcernsWhatItChanges) {
  EXPECT_EQ(said({{"NVIDIA_TF32_OVERRIDE", "0"}}, "tf32").size(), 1u);
  EXPECT_TRUE(said({{"NVIDIA_TF32_OVERRIDE", "0"}}, "fp32").empty());
  EXPECT_EQ(said({{"NVIDIA_TF32_OVERRIDE", "1"}}, "fp32").size(), 1u);
  EXPECT_TRUE(said({{"NVIDIA_TF32_OVERRIDE", "1"}}, "tf32").empty());
}

TEST(Environment, EmulatedFp64ConcernsFp64) {
  EXPECT_EQ(said({{"CUBLAS_EMULATE_DOUBLE_PRECISION", "1"}}, "fp64").size(), 1u);
  EXPECT_TRUE(said({{"CUBLAS_EMULATE_DOUBLE_PRECISION", "1"}}, "fp32").empty());
  EXPECT_TRUE(said({{"CUBLAS_EMULATE_DOUBLE_PRECISION", "0"}}, "fp64").empty());
}

TEST(Environment, NcclConcernsCommunication) {
  EXPECT_TRUE(said({{"NCCL_P2P_DISABLE", "1"}}).empty());
  EXPECT_EQ(said({{"NCCL_P2P_DISABLE", "1"}}, "fp32", "comm/all_reduce").size(), 1u);
}

}  // namespace
}  // namespace gpubench
