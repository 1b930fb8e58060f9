// SPDX-License-Identifier: Apache-2.0
// What the attention tests on a GPU share.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/devices.h"
#include "ops/attention/attention.h"

namespace gpubench {

inline std::string name_of(const AttentionProblem& problem) {
  std::string name = std::string(to_string(problem.dtype)) + "_b" + std::to_string(problem.batch) +
                     "_h" + std::to_string(problem.heads) + "_s" + std::to_string(problem.seq) +
                     "_d" + std::to_string(problem.head_dim);
  if (problem.kv_heads > 0) name += "_kvh" + std::to_string(problem.kv_heads);
  if (problem.seq_kv > 0) name += "_kvs" + std::to_string(problem.seq_kv);
  if (problem.window > 0) name += "_w" + std::to_string(problem.window);
  name += problem.causal ? "_causal" : "_full";
  if (problem.align == CausalAlign::bottom_right) name += "_br";
  return name + (problem.backward ? "_backward" : "_forward");
}

inline std::string name_of_case(const testing::TestParamInfo<AttentionProblem>& info) {
  return name_of(info.param);
}

class AttentionGpuTest : public testing::TestWithParam<AttentionProblem> {
 protected:
  void SetUp() override {
    const CudaState state = cuda_state();
    if (state.kind != CudaState::Kind::ok) GTEST_SKIP() << state.message;
    device_ = make_cuda_device(0);
    stream_ = device_->make_stream();
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
};

}  // namespace gpubench
