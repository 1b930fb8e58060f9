// SPDX-License-Identifier: Apache-2.0
// Kernels of the 16-bit types, the same tiles for every layout but one: half of 192 columns is no
// multiple of the 64 that a box of transposed B holds.
#pragma once

#include "kernels/gemm/sm90a/kernel.cuh"

namespace gpubench::sm90a {

template <template <bool, bool> class Mma, class Half, bool kAK, bool kBK>
std::span<const Kernel> half_kernels_of() {
  using Types = Operands<Mma<kAK, kBK>, 2, Half, kAK, kBK>;
  if constexpr (kAK && kBK) {
    static const Kernel kernels[] = {
        kernel_of<Types, Tile<128, 256, 4, 2>>(), kernel_of<Types, Tile<256, 128, 4, 2>>(),
        kernel_of<Types, Tile<128, 192, 4, 2>>(), kernel_of<Types, Tile<128, 128, 6, 2>>(),
        kernel_of<Types, Tile<64, 128, 8, 1>>(),  kernel_of<Types, Tile<64, 64, 8, 1>>()};
    return kernels;
  } else {
    static const Kernel kernels[] = {
        kernel_of<Types, Tile<128, 256, 4, 2>>(), kernel_of<Types, Tile<256, 128, 4, 2>>(),
        kernel_of<Types, Tile<128, 128, 6, 2>>(), kernel_of<Types, Tile<64, 128, 8, 1>>(),
        kernel_of<Types, Tile<64, 64, 8, 1>>()};
    return kernels;
  }
}

template <template <bool, bool> class Mma, class Half>
std::span<const Kernel> half_kernels(bool a_k_contiguous, bool b_k_contiguous) {
  if (a_k_contiguous) {
    return b_k_contiguous ? half_kernels_of<Mma, Half, true, true>()
                          : half_kernels_of<Mma, Half, true, false>();
  }
  return b_k_contiguous ? half_kernels_of<Mma, Half, false, true>()
                        : half_kernels_of<Mma, Half, false, false>();
}

}  // namespace gpubench::sm90a
