// SPDX-License-Identifier: Apache-2.0
// The last step of a split k: C from the parts' sums, added in the order of the parts, so that
// every run gives the same bits. And rows of operands brought to where the copy engine can read
// them.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <type_traits>

#include "kernels/common/convert.cuh"
#include "kernels/common/launch.cuh"
#include "kernels/common/warp_roles.cuh"
#include "kernels/gemm/epilogue.cuh"
#include "kernels/gemm/sm90a/params.h"

namespace gpubench::sm90a {
namespace {

constexpr int kThreads = 256;
constexpr int kQuad = 4;

/// What finish_step() of store.cuh does, for one element.
template <class Out>
__device__ void finish_element(const Params& p, float sum, int column, std::int64_t index) {
  float x = p.scale * sum;
  if (has_bias(p.epilogue)) x += to_float(static_cast<const Out*>(p.bias)[column]);
  if (p.epilogue == GemmEpilogue::bias_residual) {
    x += to_float(static_cast<const Out*>(p.residual)[index]);
  }
  if (p.epilogue == GemmEpilogue::bias_gelu_aux) {
    static_cast<Out*>(p.aux_out)[index] = from_float<Out>(x);
  }
  if (has_gelu(p.epilogue)) x = apply_gelu(x, p.short_gelu);
  static_cast<Out*>(p.c_out)[index] = from_float<Out>(x);
}

template <class Out>
__global__ void __launch_bounds__(kThreads) split_sum_kernel(const __grid_constant__ Params p) {
  wait_for_previous_kernel();
  let_next_kernel_begin();
  using Sum = std::conditional_t<std::is_same_v<Out, std::int32_t>, std::int32_t, float>;
  const std::int64_t quads_per_row = p.partial_pitch / kQuad, quads = quads_per_row * p.m;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t quad = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
       quad < quads; quad += step) {
    Sum sums[kQuad] = {};
    for (int split = 0; split < p.splits; ++split) {
      const uint4 part = reinterpret_cast<const uint4*>(p.partials)[split * quads + quad];
      const std::uint32_t words[] = {part.x, part.y, part.z, part.w};
#pragma unroll
      for (int i = 0; i < kQuad; ++i) {
        if constexpr (std::is_same_v<Sum, float>) {
          sums[i] += __uint_as_float(words[i]);
        } else {
          sums[i] += static_cast<std::int32_t>(words[i]);
        }
      }
    }
    const std::int64_t row = quad / quads_per_row;
    const int column = static_cast<int>(quad - row * quads_per_row) * kQuad;
#pragma unroll
    for (int i = 0; i < kQuad; ++i) {
      if (column + i >= p.n) break;
      const std::int64_t index = row * p.n + column + i;
      if constexpr (std::is_same_v<Sum, float>) {
        finish_element<Out>(p, sums[i], column + i, index);
      } else {
        static_cast<std::int32_t*>(p.c_out)[index] = sums[i];
      }
    }
  }
}

/// A thread makes 16 bytes of a row, the last ones of a row filled up with zeros.
template <class Word>
__global__ void __launch_bounds__(kThreads)
    pad_rows_kernel(const Word* from, uint4* to, std::int64_t rows, std::int64_t columns,
                    std::int64_t chunks_per_row) {
  constexpr int kWords = 16 / static_cast<int>(sizeof(Word));
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t chunk = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
       chunk < rows * chunks_per_row; chunk += step) {
    const std::int64_t row = chunk / chunks_per_row;
    const std::int64_t column = (chunk - row * chunks_per_row) * kWords;
    union {
      Word words[kWords];
      uint4 all;
    } made;
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      made.words[i] = column + i < columns ? from[row * columns + column + i] : Word{0};
    }
    to[chunk] = made.all;
  }
}

}  // namespace

void launch_split_sum(void* stream, const Params& params, GemmType type) {
  const auto launch = [&](auto kernel) {
    const auto quads = static_cast<std::uint64_t>(params.partial_pitch / kQuad * params.m);
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(grid_for(quads, kThreads));
    config.blockDim = dim3(kThreads);
    config.stream = native_stream(stream);
    config.attrs = &attribute;
    config.numAttrs = 1;
    static_cast<void>(cudaLaunchKernelEx(&config, kernel, params));  // check_launch() sees failures
    check_launch("split_sum_kernel");
  };
  switch (type) {
    case GemmType::fp16:
      return launch(split_sum_kernel<__half>);
    case GemmType::tf32:
      return launch(split_sum_kernel<float>);
    case GemmType::int8:
      return launch(split_sum_kernel<std::int32_t>);
    case GemmType::bf16:
    case GemmType::fp8_e4m3:
    case GemmType::fp8_e5m2:
      return launch(split_sum_kernel<__nv_bfloat16>);
  }
}

void launch_pad_rows(void* stream, const void* from, void* to, std::int64_t rows,
                     std::int64_t columns, int element_bytes, std::int64_t pitch_bytes) {
  const std::int64_t chunks_per_row = pitch_bytes / 16;
  const unsigned blocks = grid_for(static_cast<std::uint64_t>(rows * chunks_per_row), kThreads);
  const auto launch = [&](auto word) {
    using Word = decltype(word);
    pad_rows_kernel<Word><<<blocks, kThreads, 0, native_stream(stream)>>>(
        static_cast<const Word*>(from), static_cast<uint4*>(to), rows, columns, chunks_per_row);
    check_launch("pad_rows_kernel");
  };
  if (element_bytes == 1) return launch(std::uint8_t{});
  if (element_bytes == 2) return launch(std::uint16_t{});
  launch(std::uint32_t{});
}

}  // namespace gpubench::sm90a
