// SPDX-License-Identifier: Apache-2.0
// From accumulators to C in boxes of 64 rows by 128 bytes: the epilogue in registers, then through
// a buffer in shared memory to the copy engine, which stores while the next tile is multiplied. A
// consumer's two buffers take turns, and one is written again once its store has read it; with an
// aux matrix each box takes both.
#pragma once

#include <type_traits>

#include "kernels/common/convert.cuh"
#include "kernels/common/mbarrier.cuh"
#include "kernels/common/shared_access.cuh"
#include "kernels/common/tma.cuh"
#include "kernels/gemm/epilogue.cuh"
#include "kernels/gemm/sm90a/shape.cuh"

namespace gpubench::sm90a {

/// A consumer's thread and the box that it helps to store.
struct StorePlace {
  int consumer, thread;
  int row = 0, column = 0;    ///< first of the box
  std::uint32_t bias_at = 0;  ///< address of the box's bias, FP32
  int turn = 0;               ///< the buffer that is next
  std::uint32_t residual_parity = 0;

  __device__ int warp() const { return thread / kWarpThreads; }
  __device__ int lane() const { return thread % kWarpThreads; }
  __device__ bool is_issuer() const { return thread == 0; }
  __device__ void wait_for_group() const { named_barrier(1 + consumer, kWarpgroupThreads); }
};

/// Words that one step of the epilogue deals with: two 8-column blocks of a warp's 16 rows. Words
/// 4 j + {0, 1} are row lane / 4 and columns 2 (lane % 4) + {0, 1} of block j, 4 j + {2, 3} are
/// eight rows below.
constexpr int kStepWords = 8;

/// Rounded to C's type, into step `step` of a buffer.
template <class Out>
__device__ void write_step(std::uint32_t buffer, const StorePlace& place, int step,
                           const float (&values)[kStepWords]) {
  const int lane = place.lane();
  if constexpr (sizeof(Out) == 2) {
    std::uint32_t words[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) words[i] = pack_pair<Out>(values[2 * i], values[2 * i + 1]);
    const int row = place.warp() * 16 + lane % 16, chunk = 2 * step + lane / 16;
    store_matrices(buffer + swizzle128(static_cast<std::uint32_t>(row),
                                       static_cast<std::uint32_t>(chunk) * 16),
                   words);
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = place.warp() * 16 + lane / 4 + 8 * (i % 2);
      const int byte = 64 * step + 32 * (i / 2) + 8 * (lane % 4);
      store_shared_pair(
          buffer + swizzle128(static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(byte)),
          make_uint2(__float_as_uint(values[2 * i]), __float_as_uint(values[2 * i + 1])));
    }
  }
}

/// Adds what the same step of a buffer holds in C's type.
template <class Out>
__device__ void add_step(std::uint32_t buffer, const StorePlace& place, int step,
                         float (&values)[kStepWords]) {
  const int lane = place.lane();
  constexpr int kBlockBytes = 8 * static_cast<int>(sizeof(Out));
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int row = place.warp() * 16 + lane / 4 + 8 * (i % 2);
    const int byte =
        (2 * step + i / 2) * kBlockBytes + lane % 4 * 2 * static_cast<int>(sizeof(Out));
    const std::uint32_t from =
        buffer + swizzle128(static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(byte));
    float2 pair;
    if constexpr (sizeof(Out) == 2) {
      pair = unpack_pair<Out>(load_shared(from));
    } else {
      const uint2 words = load_shared_pair(from);
      pair = make_float2(__uint_as_float(words.x), __uint_as_float(words.y));
    }
    values[2 * i] += pair.x;
    values[2 * i + 1] += pair.y;
  }
}

/// Step `step` of a box through the epilogue, into `buffer`; what aux keeps into `aux_buffer`.
template <class S>
__device__ void finish_step(const Params& p, const StorePlace& place, int step,
                            std::uint32_t buffer, std::uint32_t aux_buffer,
                            float (&values)[kStepWords]) {
  using Out = typename S::Out;
#pragma unroll
  for (int i = 0; i < kStepWords; ++i) values[i] *= p.scale;
  if (has_bias(p.epilogue)) {
#pragma unroll
    for (int block = 0; block < 2; ++block) {
      const int column = (2 * step + block) * 8 + place.lane() % 4 * 2;
      const uint2 pair =
          load_shared_pair(place.bias_at + static_cast<std::uint32_t>(column) * sizeof(float));
      values[4 * block] += __uint_as_float(pair.x);
      values[4 * block + 1] += __uint_as_float(pair.y);
      values[4 * block + 2] += __uint_as_float(pair.x);
      values[4 * block + 3] += __uint_as_float(pair.y);
    }
    if (p.epilogue == GemmEpilogue::bias_residual) add_step<Out>(buffer, place, step, values);
    if (p.epilogue == GemmEpilogue::bias_gelu_aux) write_step<Out>(aux_buffer, place, step, values);
    if (has_gelu(p.epilogue)) {
#pragma unroll
      for (int i = 0; i < kStepWords; ++i) values[i] = apply_gelu(values[i], p.short_gelu);
    }
  }
  write_step<Out>(buffer, place, step, values);
}

/// Calls function(offset in a buffer, index in the matrix) for the box's elements inside C, which
/// the threads of a consumer share: for rows that the copy engine can't reach. Unrolled where it
/// would wait for each element from memory; elsewhere that is code for nothing.
template <class Out, int kUnroll, class Function>
__device__ void for_each_element(const Params& p, const StorePlace& place, Function&& function) {
  constexpr int kColumns = kSwizzleRowBytes / static_cast<int>(sizeof(Out));
#pragma unroll kUnroll
  for (int i = place.thread; i < kStoreRows * kColumns; i += kWarpgroupThreads) {
    const int row = i / kColumns, column = i % kColumns;
    if (place.row + row < p.m && place.column + column < p.n) {
      function(swizzle128(static_cast<std::uint32_t>(row),
                          static_cast<std::uint32_t>(column) * sizeof(Out)),
               static_cast<std::int64_t>(place.row + row) * p.n + place.column + column);
    }
  }
}

/// The residual's box into `buffer`.
template <class S>
__device__ void fetch_residual(const Params& p, const Shared<S>& shared, StorePlace& place,
                               std::uint32_t buffer) {
  using Out = typename S::Out;
  if (p.direct_store) {
    const auto* residual = static_cast<const Out*>(p.residual);
    for_each_element<Out, 4>(p, place, [&](std::uint32_t offset, std::int64_t index) {
      shared_object<Out>(buffer + offset) = residual[index];
    });
    place.wait_for_group();
    return;
  }
  const std::uint32_t barrier = shared.residual(place.consumer);
  if (place.is_issuer()) {
    mbarrier_expect(barrier, S::kBufferBytes);
    tma_load(buffer, &p.extra, place.column, place.row, barrier);
  }
  mbarrier_wait(barrier, place.residual_parity);
  place.residual_parity ^= 1;
}

/// One box of sums through the epilogue and on its way to C.
template <class S>
__device__ void store_box(const Params& p, const Shared<S>& shared, StorePlace& place,
                          const std::uint32_t (&words)[S::kStoreWords]) {
  using Out = typename S::Out;
  const std::uint32_t buffer = shared.buffer(place.consumer, place.turn);
  const std::uint32_t other = shared.buffer(place.consumer, place.turn ^ 1);
  const bool aux = p.epilogue == GemmEpilogue::bias_gelu_aux;
  if (place.is_issuer()) {
    if (aux) {
      tma_wait_stores_read<0>();
    } else {
      tma_wait_stores_read<1>();
    }
  }
  place.wait_for_group();  // the buffer is free, and the bias is there
  if (p.epilogue == GemmEpilogue::bias_residual) fetch_residual<S>(p, shared, place, buffer);
#pragma unroll
  for (int step = 0; step < S::kStoreWords / kStepWords; ++step) {
    float values[kStepWords];
#pragma unroll
    for (int i = 0; i < kStepWords; ++i) {
      values[i] = __uint_as_float(words[step * kStepWords + i]);
    }
    if constexpr (std::is_same_v<Out, std::int32_t>) {
      write_step<Out>(buffer, place, step, values);  // bits of INT32, never computed with
    } else {
      finish_step<S>(p, place, step, buffer, other, values);
    }
  }
  fence_async_proxy();
  place.wait_for_group();
  if (p.direct_store) {
    for_each_element<Out, 1>(p, place, [&](std::uint32_t offset, std::int64_t index) {
      static_cast<Out*>(p.c_out)[index] = shared_object<Out>(buffer + offset);
      if (aux) static_cast<Out*>(p.aux_out)[index] = shared_object<Out>(other + offset);
    });
  } else if (place.is_issuer()) {
    if (aux) tma_store(&p.extra, place.column, place.row, other);
    tma_store(&p.c, place.column, place.row, buffer);
    tma_commit_stores();
  }
  place.turn ^= 1;
}

/// Sums of a part of k, as they are.
template <class S>
__device__ void store_partial(const Params& p, const StorePlace& place, int split,
                              const std::uint32_t (&words)[S::kStoreWords]) {
#pragma unroll
  for (int pair = 0; pair < S::kStoreWords / 2; ++pair) {
    const int row = place.row + place.warp() * 16 + place.lane() / 4 + 8 * (pair % 2);
    const int column = place.column + 8 * (pair / 2) + place.lane() % 4 * 2;
    // The pitch is even and may pass n: sums over B's zeros go there.
    if (row < p.m && column < p.partial_pitch) {
      const std::int64_t at = (static_cast<std::int64_t>(split) * p.m + row) * p.partial_pitch;
      *reinterpret_cast<uint2*>(p.partials + at + column) =
          make_uint2(words[2 * pair], words[2 * pair + 1]);
    }
  }
}

template <class Out>
struct BiasPair {
  Out x, y;
};

/// This thread's two columns of the tile's bias, before the product. Not converted there, so that
/// nothing waits for them.
template <class S>
__device__ BiasPair<typename S::Out> fetch_bias(const Params& p, int tile_column, int thread) {
  using Out = typename S::Out;
  BiasPair<Out> pair{};
  if (p.splits > 1 || !has_bias(p.epilogue) || 2 * thread >= S::kTileN) return pair;
  const auto* bias = static_cast<const Out*>(p.bias);
  const int column = tile_column + 2 * thread;
  if (column < p.n) pair.x = bias[column];
  if (column + 1 < p.n) pair.y = bias[column + 1];
  return pair;
}

/// After the product: to where the consumer's other threads find it behind store_box()'s barrier.
template <class S>
__device__ void share_bias(const Params& p, const Shared<S>& shared, const StorePlace& place,
                           const BiasPair<typename S::Out>& bias) {
  if (!has_bias(p.epilogue) || 2 * place.thread >= S::kTileN) return;
  store_shared_pair(
      shared.bias(place.consumer) + static_cast<std::uint32_t>(place.thread) * sizeof(float2),
      make_uint2(__float_as_uint(static_cast<float>(bias.x)),
                 __float_as_uint(static_cast<float>(bias.y))));
}

}  // namespace gpubench::sm90a
