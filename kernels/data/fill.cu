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

}  // namespace

void launch_fill(void* stream, void* to, const FillSpec& spec) {
  if (spec.count == 0) return;
  with_storage(spec.dtype, [&](auto storage) {
    using T = typename decltype(storage)::type;
    const unsigned blocks = grid_for((spec.count + 3) / 4, kThreads);
    fill_kernel<T><<<blocks, kThreads, 0, native_stream(stream)>>>(static_cast<T*>(to), spec);
  });
  check_launch("fill_kernel");
}

}  // namespace gpubench
