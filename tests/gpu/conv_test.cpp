// SPDX-License-Identifier: Apache-2.0
// Convolution on a GPU: the device's reference against the host's, cuDNN against the device's, and
// planted faults.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/devices.h"
#include "kernels/conv_reference/conv_split.h"
#include "libs/libraries.h"
#include "ops/conv/job.h"
#include "ops/conv/reference.h"
#include "tests/ops_fixture.h"

namespace gpubench {
namespace {

constexpr Dtype kTypes[] = {Dtype::fp16, Dtype::bf16, Dtype::tf32, Dtype::fp32};
constexpr ConvPass kPasses[] = {ConvPass::forward, ConvPass::dgrad, ConvPass::wgrad};
constexpr double kSampled = 0;  // full_check_flops of no problem: all are sampled
constexpr std::uint64_t kSeed = 5;

std::vector<ConvProblem> problems_of(const std::vector<ConvShape>& shapes) {
  std::vector<ConvProblem> problems;
  for (const ConvShape& shape : shapes) {
    for (const ConvPass pass : kPasses) {
      for (const Dtype dtype : kTypes) {
        problems.push_back({.pass = pass, .dtype = dtype, .shape = shape});
      }
    }
  }
  return problems;
}

std::string name_of_case(const testing::TestParamInfo<ConvProblem>& info) {
  const ConvProblem& problem = info.param;
  const ConvShape& s = problem.shape;
  const char* passes[] = {"forward", "dgrad", "wgrad"};
  std::string text = passes[static_cast<int>(problem.pass)];
  text += "_" + std::string(to_string(problem.dtype));
  const std::pair<const char*, std::int64_t> sizes[] = {
      {"n", s.n}, {"h", s.h},           {"w", s.w},   {"c", s.c},        {"k", s.k},     {"r", s.r},
      {"s", s.s}, {"stride", s.stride}, {"p", s.pad}, {"d", s.dilation}, {"g", s.groups}};
  for (const auto& [name, size] : sizes) text += "_" + std::string(name) + std::to_string(size);
  return text;
}

class ConvGpuTest : public testing::TestWithParam<ConvProblem> {
 protected:
  void SetUp() override {
    const CudaState state = cuda_state();
    if (state.kind != CudaState::Kind::ok) GTEST_SKIP() << state.message;
    bench_.emplace(make_cuda_device(0));
    bench_->conditions.cache = CacheMode::hot;
  }

  Buffer upload(const std::vector<float>& values, Dtype dtype) {
    std::vector<std::byte> bytes;
    for (const float value : values) {
      const std::uint32_t bits = encode(dtype, value);
      const auto* first = reinterpret_cast<const std::byte*>(&bits);  // little-endian
      bytes.insert(bytes.end(), first, first + storage_bytes(dtype));
    }
    return upload_bytes(bytes.data(), bytes.size());
  }

  Buffer upload_bytes(const void* data, std::size_t bytes) {
    Buffer buffer(*bench_->device, bytes);
    bench_->device->copy_to_device(*bench_->stream, buffer.data(), data, bytes);
    return buffer;
  }

  Buffer poisoned(std::size_t bytes) {
    Buffer buffer(*bench_->device, std::max<std::size_t>(bytes, 1));
    bench_->device->fill_bytes(*bench_->stream, buffer.data(), 0xFF, buffer.size());
    return buffer;
  }

  template <class T>
  std::vector<T> download(const Buffer& buffer, std::size_t count) {
    std::vector<T> values(count);
    bench_->device->copy_to_host(*bench_->stream, values.data(), buffer.data(), count * sizeof(T));
    return values;
  }

  std::optional<TestBench> bench_;
};

/// Both sides compute in double and round to FP32 once, after sums in another order.
template <class T>
void expect_same(const std::vector<T>& device, const std::vector<T>& host, const char* what) {
  ASSERT_EQ(device.size(), host.size());
  for (std::size_t i = 0; i < host.size(); ++i) {
    ASSERT_NEAR(device[i], host[i], 1e-6 * std::fabs(static_cast<double>(host[i])) + 1e-9)
        << what << " at " << i;
  }
}

class ConvReferenceTest : public ConvGpuTest {
 protected:
  void SetUp() override {
    ConvGpuTest::SetUp();
    if (IsSkipped()) return;
    cpu_.conditions.cache = CacheMode::hot;
    const std::vector<Operand> operands = conv_operands(GetParam());
    for (std::size_t i = 0; i < operands.size(); ++i) {
      values_.emplace_back(operands[i].count);
      fill_operand(*cpu_.device, *cpu_.stream, values_[i].data(), operands[i], DataDist::normal,
                   kSeed, i);
      // TF32 data are FP32 in memory; rounded here, so that both sides see the same.
      inputs_.push_back(upload(values_[i], stored()));
    }
  }

  Dtype stored() const { return storage_dtype(DeviceKind::cuda, GetParam().dtype); }

  ConvReference on_host() const {
    return {.pass = GetParam().pass,
            .shape = GetParam().shape,
            .first = values_[0].data(),
            .first_dtype = Dtype::fp32,
            .second = values_[1].data(),
            .second_dtype = Dtype::fp32};
  }
  ConvReference on_device() const {
    return {.pass = GetParam().pass,
            .shape = GetParam().shape,
            .first = inputs_[0].data(),
            .first_dtype = stored(),
            .second = inputs_[1].data(),
            .second_dtype = stored()};
  }

  /// The device's result of a reference problem.
  std::vector<float> compute(const ConvReference& problem, std::size_t count) {
    const Buffer scratch = poisoned(conv_reference_scratch_bytes(problem.pass, problem.shape));
    const Buffer out = poisoned(count * sizeof(float));
    launch_conv_reference(bench_->stream->native(), problem, static_cast<float*>(out.data()),
                          scratch.data());
    return download<float>(out, count);
  }

  TestBench cpu_{make_cpu_device()};
  std::vector<std::vector<float>> values_;
  std::vector<Buffer> inputs_;
};

TEST_P(ConvReferenceTest, EveryElementEqualsTheHosts) {
  std::vector<float> host(values_[2].size());
  cpu_conv_checks().reference(*cpu_.stream, on_host(), host.data(), nullptr);
  expect_same(compute(on_device(), host.size()), host, "output");
}

TEST_P(ConvReferenceTest, SamplesEqualTheHosts) {
  const ConvMatrix matrix = conv_matrix(GetParam().pass, GetParam().shape);
  const auto count = static_cast<std::size_t>(sample_count(matrix.rows, matrix.columns));
  std::vector<float> sampled(count), wanted(count);
  // The operand that stands for the output is any data: only positions matter.
  cpu_conv_checks().samples(*cpu_.stream, on_host(), values_[2].data(), Dtype::fp32, kSeed,
                            sampled.data(), wanted.data());
  const Buffer given = poisoned(count * sizeof(float)), sums = poisoned(count * sizeof(float));
  launch_conv_samples(bench_->stream->native(), on_device(), inputs_[2].data(), stored(), kSeed,
                      static_cast<float*>(given.data()), static_cast<float*>(sums.data()));
  expect_same(download<float>(given, count), sampled, "sampled");
  expect_same(download<float>(sums, count), wanted, "wanted");
}

TEST_P(ConvReferenceTest, ProjectionEqualsTheHosts) {
  const ConvShape& shape = GetParam().shape;
  // The last dimension of the second input, and its first where that is the filters.
  std::vector<ConvProjection> projections{
      {.outer = static_cast<std::int64_t>(values_[1].size()) / shape.group_c(),
       .channels = shape.group_c(),
       .inner = 1,
       .seed = kSeed}};
  if (GetParam().pass == ConvPass::wgrad) {
    projections[0].channels = shape.k;
    projections[0].outer = static_cast<std::int64_t>(values_[1].size()) / shape.k;
    projections[0].groups = shape.groups;
  } else {
    projections.push_back({.outer = 1,
                           .channels = shape.k,
                           .inner = static_cast<std::int64_t>(values_[1].size()) / shape.k,
                           .groups = shape.groups,
                           .seed = kSeed});
  }
  for (ConvProjection projection : projections) {
    const auto count = static_cast<std::size_t>(
        projection.outer * projection.groups *
        projection_groups(projection.channels / projection.groups) * projection.inner);
    projection.data = values_[1].data();
    projection.dtype = Dtype::fp32;
    std::vector<double> host(count);
    std::vector<float> narrow(count);
    cpu_conv_checks().projection(*cpu_.stream, projection, host.data(), Dtype::fp64);
    cpu_conv_checks().projection(*cpu_.stream, projection, narrow.data(), Dtype::fp32);
    projection.data = inputs_[1].data();
    projection.dtype = stored();
    const Buffer out = poisoned(count * sizeof(double));
    launch_conv_projection(bench_->stream->native(), projection, out.data(), Dtype::fp64);
    expect_same(download<double>(out, count), host, "projected");
    launch_conv_projection(bench_->stream->native(), projection, out.data(), Dtype::fp32);
    expect_same(download<float>(out, count), narrow, "projected to FP32");
  }
}

TEST_P(ConvReferenceTest, AnFp64SecondInputIsTaken) {
  const std::vector<double> wide(values_[1].begin(), values_[1].end());
  const Buffer second = upload_bytes(wide.data(), wide.size() * sizeof(double));
  ConvReference problem = on_device();
  problem.second = second.data();
  problem.second_dtype = Dtype::fp64;
  expect_same(compute(problem, values_[2].size()), compute(on_device(), values_[2].size()), "FP64");
}

/// Odd sizes, strides that leave inputs unused, dilation, groups, several tiles and splits.
std::vector<ConvShape> reference_shapes() {
  return {
      {.n = 3, .h = 9, .w = 7, .c = 5, .k = 6, .r = 3, .s = 3, .pad = 1},
      {.n = 2, .h = 11, .w = 13, .c = 3, .k = 70, .r = 7, .s = 5, .stride = 2, .pad = 3},
      {.n = 1, .h = 10, .w = 8, .c = 4, .k = 6, .r = 3, .s = 2, .pad = 2, .dilation = 2},
      {.n = 2, .h = 8, .w = 9, .c = 6, .k = 9, .r = 3, .s = 1, .stride = 3, .groups = 3},
      {.n = 2, .h = 6, .w = 5, .c = 130, .k = 67, .r = 1, .s = 1},
      {.n = 5, .h = 7, .w = 7, .c = 8, .k = 8, .r = 3, .s = 3, .pad = 1, .groups = 8},
      {.n = 1, .h = 2, .w = 3, .c = 2, .k = 2, .r = 4, .s = 5, .stride = 2, .pad = 2},
      {.n = 1, .h = 5, .w = 5, .c = 2, .k = 4, .r = 1, .s = 1, .stride = 3, .pad = 1, .groups = 2},
      {.n = 9, .h = 17, .w = 15, .c = 72, .k = 80, .r = 3, .s = 3, .pad = 1},
  };
}

INSTANTIATE_TEST_SUITE_P(Shapes, ConvReferenceTest,
                         testing::ValuesIn(problems_of(reference_shapes())), name_of_case);

class CudnnConvTest : public ConvGpuTest {
 protected:
  void SetUp() override {
    ConvGpuTest::SetUp();
    if (IsSkipped()) return;
    for (const LibraryStatus& status : bench_->libraries.statuses(true)) {
      if (status.name == "cudnn" && !status.loaded) GTEST_SKIP() << status.problem;
    }
  }
  std::unique_ptr<Job> prepare(const ConvProblem& problem,
                               std::optional<double> full = std::nullopt) {
    Context context = bench_->context();
    return make_conv_job(context, problem, "cudnn", full);
  }
};

TEST_P(CudnnConvTest, MatchesTheReferenceInFullAndSampledChecks) {
  for (const std::optional<double> full : {std::optional<double>(), std::optional(kSampled)}) {
    const auto job = prepare(GetParam(), full);
    const Check check = job->verify(*bench_->stream);
    EXPECT_TRUE(check.passed) << check.detail << "; error " << check.error << ", tolerance "
                              << check.tolerance << ", " << job->info().algorithm;
    RecordProperty("error", std::to_string(check.error));
    EXPECT_EQ(job->info().impl, "cudnn");
    EXPECT_FALSE(job->info().algorithm.empty());
  }
}

std::vector<ConvShape> cudnn_shapes() {
  return {
      {.n = 4, .h = 14, .w = 14, .c = 64, .k = 64, .r = 3, .s = 3, .pad = 1},
      {.n = 3, .h = 13, .w = 11, .c = 24, .k = 40, .r = 3, .s = 3, .stride = 2, .pad = 1},
      {.n = 2, .h = 12, .w = 12, .c = 16, .k = 32, .r = 1, .s = 1},
      {.n = 2, .h = 15, .w = 15, .c = 16, .k = 16, .r = 3, .s = 3, .pad = 2, .dilation = 2},
      {.n = 2, .h = 33, .w = 31, .c = 3, .k = 64, .r = 7, .s = 7, .stride = 2, .pad = 3},
  };
}

INSTANTIATE_TEST_SUITE_P(Shapes, CudnnConvTest, testing::ValuesIn(problems_of(cudnn_shapes())),
                         name_of_case);

/// What a cuDNN may lack a kernel for: then it has to say so, and else to be right.
using CudnnConvOddTest = CudnnConvTest;

TEST_P(CudnnConvOddTest, IsRightOrRefused) {
  try {
    const Check check = prepare(GetParam())->verify(*bench_->stream);
    EXPECT_TRUE(check.passed) << check.detail << "; error " << check.error;
  } catch (const Unsupported& refused) {
    EXPECT_EQ(refused.code(), "E_UNSUPPORTED_SHAPE");
    EXPECT_NE(std::string(refused.what()).find("cuDNN"), std::string::npos);
    RecordProperty("refused", refused.what());
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, CudnnConvOddTest,
                         testing::ValuesIn(problems_of(reference_shapes())), name_of_case);

using CudnnConvOnceTest = CudnnConvTest;

TEST_P(CudnnConvOnceTest, PlantedFaultsAreFound) {
  for (const Fault fault : kAllFaults) {
    bench_->conditions.fault = fault;
    for (const std::optional<double> full : {std::optional<double>(), std::optional(kSampled)}) {
      EXPECT_FALSE(prepare(GetParam(), full)->verify(*bench_->stream).passed)
          << "fault " << static_cast<int>(fault) << (full ? " sampled" : " in full");
    }
  }
}

TEST_P(CudnnConvOnceTest, EverySetIsRightAndStaysSoAfterAGraph) {
  bench_->conditions.cache = CacheMode::cold;
  const auto job = prepare(GetParam());
  ASSERT_GE(job->sets(), 2u);
  const Check before = job->verify(*bench_->stream);
  EXPECT_TRUE(before.passed) << before.detail;
  const auto graph = bench_->device->capture(*bench_->stream, [&] {
    for (std::size_t i = 0; i < 3; ++i) job->enqueue(*bench_->stream, i);
  });
  ASSERT_NE(graph, nullptr);
  graph->launch(*bench_->stream);
  graph->launch(*bench_->stream);
  bench_->stream->synchronize();
  const Check after = job->verify(*bench_->stream);
  EXPECT_TRUE(after.passed) << after.detail;
}

/// Of 16-bit types that is more than one plan's word: coarse sums are left out by their results.
using CudnnConvTunedTest = CudnnConvTest;

TEST_P(CudnnConvTunedTest, TunedPlansAreRight) {
  ConvProblem problem = GetParam();
  problem.tune = true;
  const auto job = prepare(problem);
  const Check check = job->verify(*bench_->stream);
  EXPECT_TRUE(check.passed) << check.detail;
  EXPECT_NE(job->info().algorithm.find("tuned of"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    Passes, CudnnConvOnceTest,
    testing::ValuesIn(
        problems_of({{.n = 32, .h = 14, .w = 14, .c = 128, .k = 128, .r = 3, .s = 3, .pad = 1}})),
    name_of_case);

std::vector<ConvProblem> tuned_problems() {
  const ConvShape block{.n = 32, .h = 14, .w = 14, .c = 128, .k = 128, .r = 3, .s = 3, .pad = 1};
  const ConvShape first{
      .n = 16, .h = 64, .w = 64, .c = 3, .k = 64, .r = 7, .s = 7, .stride = 2, .pad = 3};
  return {{.pass = ConvPass::forward, .dtype = Dtype::fp16, .shape = first},
          {.pass = ConvPass::forward, .dtype = Dtype::bf16, .shape = first},
          {.pass = ConvPass::wgrad, .dtype = Dtype::bf16, .shape = first},
          {.pass = ConvPass::forward, .dtype = Dtype::tf32, .shape = block},
          {.pass = ConvPass::dgrad, .dtype = Dtype::fp16, .shape = block},
          {.pass = ConvPass::wgrad, .dtype = Dtype::fp16, .shape = block},
          {.pass = ConvPass::wgrad, .dtype = Dtype::fp32, .shape = block}};
}

INSTANTIATE_TEST_SUITE_P(Passes, CudnnConvTunedTest, testing::ValuesIn(tuned_problems()),
                         name_of_case);

}  // namespace
}  // namespace gpubench
