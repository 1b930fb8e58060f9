// SPDX-License-Identifier: Apache-2.0
// The reference attention of a GPU against the host's.
#include "kernels/attention_reference/attention_reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "attention_gpu.h"
#include "ops/attention/reference.h"

namespace gpubench {
namespace {

using Values = std::vector<float>;

class DeviceReferenceTest : public AttentionGpuTest {
 protected:
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

  /// As operands are: FP8 with a scale.
  Values random_values(std::size_t count, unsigned seed) const {
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal;
    const auto scale = static_cast<float>(attention_operand_scale(GetParam().dtype));
    Values values(count);
    for (float& value : values) value = round_to(GetParam().dtype, scale * normal(generator));
    return values;
  }
  std::size_t rows() const {
    return static_cast<std::size_t>(GetParam().batch * GetParam().heads * GetParam().seq);
  }
  std::size_t queries() const { return rows() * static_cast<std::size_t>(GetParam().head_dim); }
  std::size_t keys() const {
    return static_cast<std::size_t>(GetParam().batch * GetParam().key_heads() * GetParam().keys() *
                                    GetParam().head_dim);
  }
  AttentionReferenceShape shape() const {
    const AttentionProblem& problem = GetParam();
    return {.batch = problem.batch,
            .heads = problem.heads,
            .kv_heads = problem.key_heads(),
            .seq = problem.seq,
            .seq_kv = problem.keys(),
            .head_dim = problem.head_dim,
            .scale = attention_score_scale(problem),
            .causal = problem.causal,
            .diagonal = problem.diagonal(),
            .window = problem.window,
            .dtype = problem.dtype};
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
  const Values q = random_values(queries(), 1), k = random_values(keys(), 2),
               v = random_values(keys(), 3);
  const Dtype dtype = GetParam().dtype;
  const Buffer dq = upload(q, dtype), dk = upload(k, dtype), dv = upload(v, dtype);
  const Buffer out = poisoned(queries()), lse = poisoned(rows());
  const Buffer scratch(*device_, attention_reference_scratch_bytes(shape()));
  attention_reference_forward(stream_->native(), shape(), dq.data(), dk.data(), dv.data(),
                              Dtype::fp32, out.data(), static_cast<float*>(lse.data()),
                              scratch.data());
  Values host_out(queries()), host_lse(rows());
  attention_forward_host(GetParam(), q.data(), k.data(), v.data(), host_out.data(),
                         host_lse.data());
  expect_same(download(out, queries()), host_out, "o");
  expect_same(download(lse, rows()), host_lse, "lse");
  if (dtype == Dtype::fp8_e4m3) return;  // has no backward pass

  // The same O, stored as the type: what a backward pass is given.
  const Buffer stored(*device_, queries() * storage_bytes(dtype));
  attention_reference_forward(stream_->native(), shape(), dq.data(), dk.data(), dv.data(), dtype,
                              stored.data(), static_cast<float*>(lse.data()), scratch.data());
  std::vector<std::byte> bytes(stored.size());
  device_->copy_to_host(*stream_, bytes.data(), stored.data(), bytes.size());
  for (std::size_t i = 0; i < queries(); ++i) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &bytes[i * storage_bytes(dtype)], storage_bytes(dtype));
    const double ulps = 4 * unit_roundoff(dtype);
    ASSERT_NEAR(decode(dtype, bits), host_out[i], ulps * std::fabs(host_out[i]) + 1e-7) << i;
  }
}

TEST_P(DeviceReferenceTest, BackwardEqualsTheHosts) {
  const Dtype dtype = GetParam().dtype;
  if (dtype == Dtype::fp8_e4m3) GTEST_SKIP() << "fp8 has no backward pass";
  const Values q = random_values(queries(), 4), k = random_values(keys(), 5),
               v = random_values(keys(), 6), d_o = random_values(queries(), 7);
  Values o(queries()), lse(rows());
  attention_forward_host(GetParam(), q.data(), k.data(), v.data(), o.data(), lse.data());
  for (float& value : o) value = round_to(dtype, value);
  const Buffer in_q = upload(q, dtype), in_k = upload(k, dtype), in_v = upload(v, dtype),
               in_o = upload(o, dtype), in_d_o = upload(d_o, dtype);
  const Buffer dq = poisoned(queries()), dk = poisoned(keys()), dv = poisoned(keys());
  const Buffer scratch(*device_, attention_reference_scratch_bytes(shape()));
  attention_reference_backward(stream_->native(), shape(), in_q.data(), in_k.data(), in_v.data(),
                               in_o.data(), in_d_o.data(), static_cast<float*>(dq.data()),
                               static_cast<float*>(dk.data()), static_cast<float*>(dv.data()),
                               scratch.data());
  Values host_dq(queries()), host_dk(keys()), host_dv(keys());
  attention_backward_host(GetParam(), q.data(), k.data(), v.data(), o.data(), d_o.data(),
                          host_dq.data(), host_dk.data(), host_dv.data());
  expect_same(download(dq, queries()), host_dq, "dq");
  expect_same(download(dk, keys()), host_dk, "dk");
  expect_same(download(dv, keys()), host_dv, "dv");
}

constexpr CausalAlign kBottomRight = CausalAlign::bottom_right;

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
    // More than one slice of head_dim, the last of them part of one.
    problems.push_back({.batch = 1, .heads = 2, .seq = 70, .head_dim = 256, .causal = causal});
    problems.push_back({.batch = 1, .heads = 1, .seq = 33, .head_dim = 200, .causal = causal});
    problems.push_back({.batch = 2, .heads = 6, .seq = 100, .causal = causal, .kv_heads = 2});
    problems.push_back({.batch = 2, .heads = 3, .seq = 67, .causal = causal, .kv_heads = 1});
    problems.push_back({.batch = 2, .heads = 2, .seq = 70, .causal = causal, .seq_kv = 203});
    problems.push_back({.batch = 2, .heads = 2, .seq = 203, .causal = causal, .seq_kv = 70});
    problems.push_back({.batch = 2, .heads = 4, .seq = 1, .causal = causal, .seq_kv = 301});
    problems.push_back({.batch = 2,
                        .heads = 4,
                        .seq = 129,
                        .head_dim = 48,
                        .dtype = Dtype::fp8_e4m3,
                        .causal = causal,
                        .kv_heads = 2});
  }
  const AttentionProblem base{.batch = 1, .heads = 4, .seq = 150, .causal = true, .kv_heads = 2};
  for (const std::int64_t seq_kv : {150, 151, 214, 333}) {
    for (const std::int64_t window : {0, 1, 63, 64, 65, 149}) {
      for (const CausalAlign align : {CausalAlign::top_left, kBottomRight}) {
        AttentionProblem problem = base;
        problem.seq_kv = seq_kv;
        problem.window = window;
        problem.align = align;
        problems.push_back(problem);
      }
    }
  }
  return problems;
}

INSTANTIATE_TEST_SUITE_P(Shapes, DeviceReferenceTest, testing::ValuesIn(reference_problems()),
                         name_of_case);

}  // namespace
}  // namespace gpubench
