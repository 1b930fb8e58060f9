// SPDX-License-Identifier: Apache-2.0
#include "kernels/common/convert.cuh"
#include "kernels/common/launch.cuh"
#include "kernels/common/random.h"
#include "kernels/data/fill.h"

namespace gpubench {
namespace {

constexpr unsigned kThreads = 256;

template <class T>
struct alignas(4 * sizeof(T)) Vector4 {
  T v[4];
};

__device__ random::Floats draw(FillKind kind, std::uint64_t seed, std::uint64_t stream,
                               std::uint64_t block) {
  switch (kind) {
    case FillKind::normal:
      return random::normal(random::philox(seed, stream, block));
    case FillKind::uniform:
      return random::uniform(random::philox(seed, stream, block));
    case FillKind::ones:
      return {{1.f, 1.f, 1.f, 1.f}};
    case FillKind::zeros:
      break;
  }
  return {{0.f, 0.f, 0.f, 0.f}};
}

/// One random block, four elements, per thread and step.
template <class T>
__global__ void fill_kernel(T* to, FillSpec spec) {
  const float scale = static_cast<float>(spec.scale);
  const std::uint64_t blocks = (spec.count + 3) / 4;
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < blocks;
       i += stride) {
    const random::Floats values = draw(spec.kind, spec.seed, spec.stream, i);
    Vector4<T> out;
    for (int j = 0; j < 4; ++j) {
      // TF32 data stays FP32: tensor cores round it, as they do in real use, and zeroed low bits
      // would draw less power.
      out.v[j] = from_float<T>(values.v[j] * scale);
    }
    if (4 * i + 4 <= spec.count) {
      reinterpret_cast<Vector4<T>*>(to)[i] = out;
    } else {
      for (int j = 0; 4 * i + j < spec.count; ++j) to[4 * i + j] = out.v[j];
    }
  }
}

/// The FP32 data of the same seed, with low bits where the data are random.
__global__ void fill_double_kernel(double* to, FillSpec spec) {
  const bool has_low_bits = spec.kind == FillKind::normal || spec.kind == FillKind::uniform;
  const std::uint64_t blocks = (spec.count + 3) / 4;
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < blocks;
       i += stride) {
    const random::Floats values = draw(spec.kind, spec.seed, spec.stream, i);
    const random::Words low = random::philox(spec.seed, random::kLowBitsStream + spec.stream, i);
    for (int j = 0; j < 4 && 4 * i + j < spec.count; ++j) {
      const double value = static_cast<double>(values.v[j]) * spec.scale;
      to[4 * i + j] = has_low_bits ? random::with_low_bits(value, low.v[j]) : value;
    }
  }
}

}  // namespace

void launch_fill(void* stream, void* to, const FillSpec& spec) {
  if (spec.count == 0) return;
  const cudaStream_t queue = native_stream(stream);
  const unsigned blocks = grid_for((spec.count + 3) / 4, kThreads);
  if (spec.dtype == Dtype::fp64) {
    fill_double_kernel<<<blocks, kThreads, 0, queue>>>(static_cast<double*>(to), spec);
  } else if (spec.dtype == Dtype::int8) {
    fill_kernel<<<blocks, kThreads, 0, queue>>>(static_cast<std::int8_t*>(to), spec);
  } else {
    with_storage(spec.dtype, [&](auto storage) {
      using T = typename decltype(storage)::type;
      fill_kernel<<<blocks, kThreads, 0, queue>>>(static_cast<T*>(to), spec);
    });
  }
  check_launch("fill_kernel");
}

}  // namespace gpubench
