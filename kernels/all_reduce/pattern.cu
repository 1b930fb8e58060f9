// SPDX-License-Identifier: Apache-2.0
#include "kernels/all_reduce/pattern.h"
#include "kernels/common/convert.cuh"
#include "kernels/common/launch.cuh"

namespace gpubench {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned long long kNone = ~0ull;

static_assert(sizeof(unsigned long long) == sizeof(std::uint64_t), "what atomics take");

template <class T>
struct alignas(4 * sizeof(T)) Vector4 {
  T v[4];
};

template <class T>
__device__ T stored(std::uint32_t value) {
  return from_float<T>(static_cast<float>(value));  // exact: a float holds what the type can
}
template <>
__device__ std::int32_t stored<std::int32_t>(std::uint32_t value) {
  return static_cast<std::int32_t>(value);
}

template <class T>
__device__ double value_of(T value) {
  return to_double(value);
}
__device__ double value_of(std::int32_t value) { return static_cast<double>(value); }

template <class T>
__global__ void pattern_fill_kernel(T* to, ReducePattern pattern, int rank, std::uint64_t count) {
  const std::uint64_t blocks = (count + 3) / 4;
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < blocks;
       i += stride) {
    const PatternInputs inputs = pattern_inputs(pattern, rank, i);
    Vector4<T> out;
    for (int j = 0; j < 4; ++j) out.v[j] = stored<T>(inputs.v[j]);
    if (4 * i + 4 <= count) {
      reinterpret_cast<Vector4<T>*>(to)[i] = out;
    } else {
      for (int j = 0; 4 * i + j < count; ++j) to[4 * i + j] = out.v[j];
    }
  }
}

__global__ void pattern_clear_kernel(PatternFaults* faults) {
  *faults = PatternFaults{};
  faults->first = kNone;
}

/// Atomics only for what is wrong: nothing is, as a rule.
template <class T>
__global__ void pattern_check_kernel(const T* out, ReducePattern pattern, std::uint64_t count,
                                     PatternFaults* faults) {
  const std::uint64_t blocks = (count + 3) / 4;
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < blocks;
       i += stride) {
    const PatternOutputs wanted = pattern_outputs(pattern, i);
    for (int j = 0; j < 4 && 4 * i + j < count; ++j) {
      const double value = value_of(out[4 * i + j]);
      if (value == wanted.v[j]) continue;  // NaN is equal to nothing
      atomicAdd(reinterpret_cast<unsigned long long*>(&faults->wrong), 1ull);
      atomicMin(reinterpret_cast<unsigned long long*>(&faults->first),
                static_cast<unsigned long long>(4 * i + j));
      if (!isfinite(value)) {
        atomicAdd(reinterpret_cast<unsigned long long*>(&faults->nonfinite), 1ull);
        continue;
      }
      const double error = fabs(value - wanted.v[j]) / wanted.v[j];
      // The bits of numbers that are not negative are in the numbers' order.
      atomicMax(reinterpret_cast<unsigned long long*>(&faults->max_error),
                static_cast<unsigned long long>(__double_as_longlong(error)));
    }
  }
}

/// Calls `function(StorageType<T>{})` for what the type is stored as on a GPU.
template <class Function>
void with_type(ReduceType type, Function&& function) {
  switch (type) {
    case ReduceType::fp32:
      return function(StorageType<float>{});
    case ReduceType::bf16:
      return function(StorageType<__nv_bfloat16>{});
    case ReduceType::fp16:
      return function(StorageType<__half>{});
    case ReduceType::fp8:
      return function(StorageType<__nv_fp8_e4m3>{});
    case ReduceType::int32:
      return function(StorageType<std::int32_t>{});
  }
  throw Error("E_DTYPE", "no kernel for this element type");
}

}  // namespace

void launch_pattern_fill(void* stream, void* to, const ReducePattern& pattern, int rank,
                         std::uint64_t count) {
  if (count == 0) return;
  with_type(pattern.type, [&](auto storage) {
    using T = typename decltype(storage)::type;
    pattern_fill_kernel<T>
        <<<grid_for((count + 3) / 4, kThreads), kThreads, 0, native_stream(stream)>>>(
            static_cast<T*>(to), pattern, rank, count);
  });
  check_launch("pattern_fill_kernel");
}

void launch_pattern_check(void* stream, const void* out, const ReducePattern& pattern,
                          std::uint64_t count, void* faults) {
  auto* found = static_cast<PatternFaults*>(faults);
  pattern_clear_kernel<<<1, 1, 0, native_stream(stream)>>>(found);
  check_launch("pattern_clear_kernel");
  if (count == 0) return;
  with_type(pattern.type, [&](auto storage) {
    using T = typename decltype(storage)::type;
    pattern_check_kernel<T>
        <<<grid_for((count + 3) / 4, kThreads), kThreads, 0, native_stream(stream)>>>(
            static_cast<const T*>(out), pattern, count, found);
  });
  check_launch("pattern_check_kernel");
}

}  // namespace gpubench
