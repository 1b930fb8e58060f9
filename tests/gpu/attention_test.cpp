// SPDX-License-Identifier: Apache-2.0
// Attention on a GPU: the device's reference against the host's, cuDNN against the device's, and
// planted faults.
#include "ops/attention/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "device/devices.h"
#include "kernels/attention_reference/attention_reference.h"
#include "libs/libraries.h"
#include "ops/attention/reference.h"

namespace gpubench {
namespace {

using Values = std::vector<float>;

std::string name_of(const AttentionProblem& problem) {
  return std::string(to_string(problem.dtype)) + "_b" + std::to_string(problem.batch) + "_h" +
         std::to_string(problem.heads) + "_s" + std::to_string(problem.seq) + "_d" +
         std::to_string(problem.head_dim) + (problem.causal ? "_causal" : "_full") +
         (problem.backward ? "_backward" : "_forward");
}

std::string name_of_case(const testing::TestParamInfo<AttentionProblem>& info) {
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

  Buffer upload(const Values& values, Dtype dtype) {
    std::vector<std::byte> bytes;
    for (const float value : values) {
      const std::uint32_t bits = encode(dtype, value);
      const auto* first = reinterpret_cast<const std::byte*>(&bits);  // little-endian
      bytes.insert(bytes.end(), first, first + storage_bytes(dtype));
    }
    Buffer buffer(*device_, bytes.size());
    device_->copy_to_device(*stream_, buffer.data(), bytes.data(), bytes.size());
    return buffer;
  }

  Values download(const Buffer& buffer, std::size_t count) {
    Values values(count);
    device_->copy_to_host(*stream_, values.data(), buffer.data(), count * sizeof(float));
    return values;
  }

  Buffer poisoned(std::size_t floats) {
    Buffer buffer(*device_, floats * sizeof(float));
    device_->fill_bytes(*stream_, buffer.data(), 0xFF, buffer.size());
    return buffer;
  }

  std::unique_ptr<Job> prepare(const AttentionProblem& problem, const Conditions& conditions) {
    conditions_ = conditions;
    Context context{*device_, *stream_, libraries_, conditions_};
    return prepare_attention(context, problem, "cudnn");
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  Libraries libraries_;
  Conditions conditions_;
};

class DeviceReferenceTest : public AttentionGpuTest {
 protected:
  Values random_values(unsigned seed) const {
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal;
    Values values(count());
    for (float& value : values) value = round_to(GetParam().dtype, normal(generator));
    return values;
  }
  std::size_t rows() const {
    return static_cast<std::size_t>(GetParam().batch * GetParam().heads * GetParam().seq);
  }
  std::size_t count() const { return rows() * static_cast<std::size_t>(GetParam().head_dim); }
  AttentionReferenceShape shape() const {
    return {GetParam().batch,    GetParam().heads,  GetParam().seq,
            GetParam().head_dim, GetParam().causal, GetParam().dtype};
  }
  /// Both sides compute in double and round to FP32 once: a unit in the last place, or a few of an
  /// intermediate 1e-16.
  static void expect_same(const Values& device, const Values& host, const char* what) {
    ASSERT_EQ(device.size(), host.size());
    for (std::size_t i = 0; i < host.size(); ++i) {
      ASSERT_NEAR(device[i], host[i], 1e-6 * std::fabs(host[i]) + 1e-9) << what << " at " << i;
    }
  }
};

TEST_P(DeviceReferenceTest, ForwardEqualsTheHosts) {
  const Values q = random_values(1), k = random_values(2), v = random_values(3);
  const Dtype dtype = GetParam().dtype;
  const Buffer dq = upload(q, dtype), dk = upload(k, dtype), dv = upload(v, dtype);
  const Buffer out = poisoned(count()), lse = poisoned(rows());
  const Buffer scratch(*device_, attention_reference_scratch_bytes(shape()));
  attention_reference_forward(stream_->native(), shape(), dq.data(), dk.data(), dv.data(),
                              Dtype::fp32, out.data(), static_cast<float*>(lse.data()),
                              scratch.data());
  Values host_out(count()), host_lse(rows());
  attention_forward_host(GetParam(), q.data(), k.data(), v.data(), host_out.data(),
                         host_lse.data());
  expect_same(download(out, count()), host_out, "o");
  expect_same(download(lse, rows()), host_lse, "lse");

  // The same O, stored as the type: what a backward pass is given.
  const Buffer stored(*device_, count() * storage_bytes(dtype));
  attention_reference_forward(stream_->native(), shape(), dq.data(), dk.data(), dv.data(), dtype,
                              stored.data(), static_cast<float*>(lse.data()), scratch.data());
  std::vector<std::byte> bytes(stored.size());
  device_->copy_to_host(*stream_, bytes.data(), stored.data(), bytes.size());
  for (std::size_t i = 0; i < count(); ++i) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &bytes[i * storage_bytes(dtype)], storage_bytes(dtype));
    const double ulps = 4 * unit_roundoff(dtype);
    ASSERT_NEAR(decode(dtype, bits), host_out[i], ulps * std::fabs(host_out[i]) + 1e-7) << i;
  }
}

TEST_P(DeviceReferenceTest, BackwardEqualsTheHosts) {
  const Values q = random_values(4), k = random_values(5), v = random_values(6),
               d_o = random_values(7);
  const Dtype dtype = GetParam().dtype;
  Values o(count()), lse(rows());
  attention_forward_host(GetParam(), q.data(), k.data(), v.data(), o.data(), lse.data());
  for (float& value : o) value = round_to(dtype, value);
  const Buffer in_q = upload(q, dtype), in_k = upload(k, dtype), in_v = upload(v, dtype),
               in_o = upload(o, dtype), in_d_o = upload(d_o, dtype);
  const Buffer dq = poisoned(count()), dk = poisoned(count()), dv = poisoned(count());
  const Buffer scratch(*device_, attention_reference_scratch_bytes(shape()));
  attention_reference_backward(stream_->native(), shape(), in_q.data(), in_k.data(), in_v.data(),
                               in_o.data(), in_d_o.data(), static_cast<float*>(dq.data()),
                               static_cast<float*>(dk.data()), static_cast<float*>(dv.data()),
                               scratch.data());
  Values host_dq(count()), host_dk(count()), host_dv(count());
  attention_backward_host(GetParam(), q.data(), k.data(), v.data(), o.data(), d_o.data(),
                          host_dq.data(), host_dk.data(), host_dv.data());
  expect_same(download(dq, count()), host_dq, "dq");
  expect_same(download(dk, count()), host_dk, "dk");
  expect_same(download(dv, count()), host_dv, "dv");
}

std::vector<AttentionProblem> reference_problems() {
  std::vector<AttentionProblem> problems;
  for (const bool causal : {false, true}) {
    for (const std::int64_t seq : {1, 7, 64, 100, 257}) {
      problems.push_back({.batch = 2, .heads = 3, .seq = seq, .head_dim = 64, .causal = causal});
    }
    for (const Dtype dtype : {Dtype::fp16, Dtype::bf16, Dtype::fp32}) {
      problems.push_back(
          {.batch = 1, .heads = 2, .seq = 130, .head_dim = 128, .dtype = dtype, .causal = causal});
    }
    problems.push_back({.batch = 3, .heads = 1, .seq = 65, .head_dim = 40, .causal = causal});
    problems.push_back({.batch = 1, .heads = 1, .seq = 65, .head_dim = 88, .causal = causal});
  }
  return problems;
}

INSTANTIATE_TEST_SUITE_P(Shapes, DeviceReferenceTest, testing::ValuesIn(reference_problems()),
                         name_of_case);

class CudnnAttentionTest : public AttentionGpuTest {
 protected:
  void SetUp() override {
    AttentionGpuTest::SetUp();
    if (IsSkipped()) return;
    for (const LibraryStatus& status : libraries_.statuses(true)) {
      if (status.name == "cudnn" && !status.loaded) GTEST_SKIP() << status.problem;
    }
  }
};

TEST_P(CudnnAttentionTest, MatchesTheReference) {
  const auto job = prepare(GetParam(), {.cache = CacheMode::hot});
  const Check check = job->verify(*stream_);
  EXPECT_TRUE(check.passed) << check.detail << "; error " << check.error << ", tolerance "
                            << check.tolerance;
  RecordProperty("error", std::to_string(check.error));
  EXPECT_EQ(job->info().impl, "cudnn");
  EXPECT_FALSE(job->info().algorithm.empty());
}

std::vector<AttentionProblem> cudnn_problems() {
  std::vector<AttentionProblem> problems;
  for (const bool backward : {false, true}) {
    for (const bool causal : {false, true}) {
      for (const std::int64_t seq : {1, 7, 100, 257, 1024}) {
        if (backward && seq == 1) continue;  // refused by cuDNN 9.14: see OneQueryIsRightOrRefused
        problems.push_back({.batch = 2,
                            .heads = 3,
                            .seq = seq,
                            .head_dim = 128,
                            .causal = causal,
                            .backward = backward});
      }
      for (const Dtype dtype : {Dtype::fp16, Dtype::bf16}) {
        problems.push_back({.batch = 2,
                            .heads = 2,
                            .seq = 512,
                            .head_dim = 64,
                            .dtype = dtype,
                            .causal = causal,
                            .backward = backward});
      }
    }
  }
  return problems;
}

INSTANTIATE_TEST_SUITE_P(Shapes, CudnnAttentionTest, testing::ValuesIn(cudnn_problems()),
                         name_of_case);

using CudnnAttentionOnceTest = CudnnAttentionTest;

AttentionProblem small_problem(bool causal, bool backward) {
  return {
      .batch = 2, .heads = 2, .seq = 256, .head_dim = 64, .causal = causal, .backward = backward};
}

TEST_P(CudnnAttentionOnceTest, PlantedFaultsAreFound) {
  for (const Fault fault :
       {Fault::wrong_element, Fault::unwritten_tile, Fault::swapped_operands, Fault::nan}) {
    const auto job = prepare(GetParam(), {.cache = CacheMode::hot, .fault = fault});
    EXPECT_FALSE(job->verify(*stream_).passed) << "fault " << static_cast<int>(fault);
  }
}

TEST_P(CudnnAttentionOnceTest, EverySetIsRightAndStaysSoAfterAGraph) {
  const auto job = prepare(GetParam(), {.cache = CacheMode::cold});
  ASSERT_GE(job->sets(), 2u);
  const Check before = job->verify(*stream_);
  EXPECT_TRUE(before.passed) << before.detail;
  const auto graph = device_->capture(*stream_, [&] {
    for (std::size_t i = 0; i < 3; ++i) job->enqueue(*stream_, i);
  });
  ASSERT_NE(graph, nullptr);
  graph->launch(*stream_);
  graph->launch(*stream_);
  stream_->synchronize();
  const Check after = job->verify(*stream_);
  EXPECT_TRUE(after.passed) << after.detail;
}

TEST_P(CudnnAttentionOnceTest, OneQueryIsRightOrRefused) {
  AttentionProblem problem = GetParam();
  problem.seq = 1;
  try {
    const Check check = prepare(problem, {.cache = CacheMode::hot})->verify(*stream_);
    EXPECT_TRUE(check.passed) << check.detail;
  } catch (const Unsupported& refused) {
    EXPECT_EQ(refused.code(), "E_UNSUPPORTED_SHAPE");
    EXPECT_NE(std::string(refused.what()).find("cuDNN"), std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(Passes, CudnnAttentionOnceTest,
                         testing::Values(small_problem(false, false), small_problem(true, false),
                                         small_problem(false, true), small_problem(true, true)),
                         name_of_case);

}  // namespace
}  // namespace gpubench
