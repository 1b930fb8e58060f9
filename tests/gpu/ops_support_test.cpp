// SPDX-License-Identifier: Apache-2.0
// Data and comparison on the GPU against the same functions on the host.
#include <cmath>
#include <cstring>
#include <vector>

#include "ops/support/operands.h"
#include "tests/ops_fixture.h"

namespace gpubench {
namespace {

constexpr Dtype kStored[] = {Dtype::fp32, Dtype::tf32,     Dtype::fp16,
                             Dtype::bf16, Dtype::fp8_e4m3, Dtype::fp8_e5m2};

class OnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    const CudaState state = cuda_state();
    if (state.kind != CudaState::Kind::ok) GTEST_SKIP() << state.message;
    gpu = std::make_unique<TestBench>(make_cuda_device(0));
  }

  /// The device's elements as numbers.
  std::vector<float> decoded(const void* data, Dtype dtype, std::size_t count) {
    const std::size_t bytes = storage_bytes(dtype);
    std::vector<std::byte> raw(count * bytes);
    gpu->device->copy_to_host(*gpu->stream, raw.data(), data, raw.size());
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, raw.data() + i * bytes, bytes);
      // TF32 data on a GPU is unrounded FP32, on the cpu device rounded.
      values[i] = round_to(dtype, decode(Dtype::tf32 == dtype ? Dtype::fp32 : dtype, bits));
    }
    return values;
  }

  Buffer upload(const std::vector<float>& values) {
    Buffer buffer(*gpu->device, values.size() * sizeof(float));
    gpu->device->copy_to_device(*gpu->stream, buffer.data(), values.data(), buffer.size());
    return buffer;
  }

  std::unique_ptr<TestBench> gpu;
  TestBench cpu{make_cpu_device()};
};

TEST_F(OnGpu, DataIsTheHostsDataUpToTheLastBit) {
  for (const Dtype dtype : kStored) {
    for (const DataDist data :
         {DataDist::normal, DataDist::uniform, DataDist::ones, DataDist::zeros}) {
      const bool fp8 = storage_bytes(dtype) == 1;
      const Operand operand{.dtype = dtype, .count = 100003, .scale = fp8 ? 64.0 : 1.5};
      std::vector<float> host(operand.count);
      fill_operand(*cpu.device, *cpu.stream, host.data(), operand, data, 7, 3);
      const Buffer buffer(*gpu->device, operand.count * storage_bytes(dtype));
      fill_operand(*gpu->device, *gpu->stream, buffer.data(), operand, data, 7, 3);
      const std::vector<float> device = decoded(buffer.data(), dtype, operand.count);
      std::size_t different = 0;
      for (std::size_t i = 0; i < host.size(); ++i) {
        // A last bit of log, sin or cos may tip a rounding: one step of the type, seldom.
        const double step = 2 * unit_roundoff(dtype) * std::fabs(static_cast<double>(host[i]));
        const double fp32_noise = 2e-6 * operand.scale;
        ASSERT_NEAR(device[i], host[i], 1.01 * step + fp32_noise) << to_string(dtype) << " " << i;
        different += device[i] != host[i];
      }
      if (data != DataDist::normal) {
        EXPECT_EQ(different, 0u) << to_string(dtype);
      }
      if (storage_bytes(dtype) < 4) {
        EXPECT_LT(different, host.size() / 100) << to_string(dtype);
      }
    }
  }
}

TEST_F(OnGpu, Fp64AndInt8DataAreTheHosts) {
  for (const DataDist data :
       {DataDist::normal, DataDist::uniform, DataDist::ones, DataDist::zeros}) {
    const Operand wide{.dtype = Dtype::fp64, .count = 100003, .scale = 1.5};
    std::vector<double> host(wide.count), device(wide.count);
    fill_operand(*cpu.device, *cpu.stream, host.data(), wide, data, 7, 3);
    const Buffer buffer(*gpu->device, wide.count * sizeof(double));
    fill_operand(*gpu->device, *gpu->stream, buffer.data(), wide, data, 7, 3);
    gpu->device->copy_to_host(*gpu->stream, device.data(), buffer.data(), buffer.size());
    for (std::size_t i = 0; i < host.size(); ++i) {
      // FP32's log and cos differ in their last bits; uniform numbers don't at all.
      const double noise = data == DataDist::normal ? 3e-6 : 0;
      ASSERT_NEAR(device[i], host[i], noise) << i;
    }
    const Operand small{.dtype = Dtype::int8, .count = 100003, .scale = 22};
    std::vector<float> rounded(small.count);
    fill_operand(*cpu.device, *cpu.stream, rounded.data(), small, data, 7, 3);
    const Buffer bytes(*gpu->device, small.count);
    fill_operand(*gpu->device, *gpu->stream, bytes.data(), small, data, 7, 3);
    const std::vector<float> integers = decoded(bytes.data(), Dtype::int8, small.count);
    std::size_t different = 0;
    for (std::size_t i = 0; i < rounded.size(); ++i) {
      ASSERT_NEAR(integers[i], rounded[i], data == DataDist::normal ? 1 : 0) << i;
      different += integers[i] != rounded[i];
    }
    EXPECT_LT(different, rounded.size() / 1000);
  }
}

TEST_F(OnGpu, Fp64AndInt32AreComparedLikeTheHostDoes) {
  std::vector<double> reference(70001);
  const auto both = [&](const void* out, Dtype dtype, double tolerance) {
    const Operand operand{.name = "out",
                          .role = Role::output,
                          .dtype = dtype,
                          .count = reference.size(),
                          .tolerance = tolerance};
    const Buffer on_gpu(*gpu->device, operand.count * storage_bytes(dtype));
    const Buffer reference_on_gpu(*gpu->device, operand.count * sizeof(double));
    gpu->device->copy_to_device(*gpu->stream, on_gpu.data(), out, on_gpu.size());
    gpu->device->copy_to_device(*gpu->stream, reference_on_gpu.data(), reference.data(),
                                reference_on_gpu.size());
    const Check host =
        compare_with_reference(*cpu.device, *cpu.stream, out, operand, reference.data());
    const Check device = compare_with_reference(*gpu->device, *gpu->stream, on_gpu.data(), operand,
                                                reference_on_gpu.data());
    EXPECT_EQ(host.passed, device.passed);
    EXPECT_EQ(host.detail, device.detail);
    EXPECT_NEAR(host.error, device.error, 1e-9 * host.error);
    return device.passed;
  };
  fill_operand(*cpu.device, *cpu.stream, reference.data(),
               {.dtype = Dtype::fp64, .count = reference.size()}, DataDist::normal, 1, 0);
  std::vector<double> out = reference;
  EXPECT_TRUE(both(out.data(), Dtype::fp64, 1e-13));
  out[70000] += 1e-14;
  EXPECT_TRUE(both(out.data(), Dtype::fp64, 1e-13));
  out[33] += 1e-12;
  EXPECT_FALSE(both(out.data(), Dtype::fp64, 1e-13));

  std::vector<std::int32_t> integers(reference.size());
  for (std::size_t i = 0; i < integers.size(); ++i) {
    integers[i] = static_cast<std::int32_t>(i * 30000u) - 1000000000;
    reference[i] = integers[i];
  }
  EXPECT_TRUE(both(integers.data(), Dtype::int32, 0));
  integers[69999] += 1;
  EXPECT_FALSE(both(integers.data(), Dtype::int32, 0));
}

TEST_F(OnGpu, ComparisonFindsWhatTheHostsFinds) {
  std::vector<float> reference(70001), out;
  fill_operand(*cpu.device, *cpu.stream, reference.data(), {.count = reference.size()},
               DataDist::normal, 1, 0);
  const Operand operand{
      .name = "out", .role = Role::output, .count = reference.size(), .tolerance = 1e-3};
  const auto both = [&] {
    const Buffer on_gpu = upload(out), reference_on_gpu = upload(reference);
    const Check host =
        compare_with_reference(*cpu.device, *cpu.stream, out.data(), operand, reference.data());
    const Check device = compare_with_reference(*gpu->device, *gpu->stream, on_gpu.data(), operand,
                                                static_cast<const float*>(reference_on_gpu.data()));
    EXPECT_EQ(host.passed, device.passed);
    EXPECT_EQ(host.detail, device.detail);
    if (std::isfinite(host.error)) {
      EXPECT_NEAR(host.error, device.error, 1e-9 * host.error);
    } else {
      EXPECT_FALSE(std::isfinite(device.error));
    }
    return device;
  };
  out = reference;
  EXPECT_TRUE(both().passed);
  out[70000] += 5e-4f;
  EXPECT_TRUE(both().passed);
  out[33] += 1.f;
  out[69999] -= 2.f;
  EXPECT_FALSE(both().passed);
  out = reference;
  out[4242] = std::nanf("");
  EXPECT_FALSE(both().passed);
  out[17] = INFINITY;
  EXPECT_FALSE(both().passed);
}

TEST_F(OnGpu, PoisonedOutputsAreNanInEveryType) {
  for (const Dtype dtype : kStored) {
    Context context = gpu->context();
    gpu->conditions.cache = CacheMode::hot;
    OperandSets sets(context,
                     {{.name = "out", .role = Role::output, .dtype = dtype, .count = 1000}});
    for (const float value : decoded(sets.set(0)[0], dtype, 1000)) ASSERT_TRUE(std::isnan(value));
  }
}

}  // namespace
}  // namespace gpubench
