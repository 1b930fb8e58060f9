// SPDX-License-Identifier: Apache-2.0
// FP8 in, BF16 out. The tensor core's FP8 sums keep about 14 bits; promotion moves them into FP32
// registers every 128 of k, for which a consumer holds 64 accumulators more: 128 x 256 has no room.
#include "kernels/gemm/sm90a/kernel.cuh"

namespace gpubench::sm90a {
namespace {

template <class Mma>
std::span<const Kernel> kernels_of(bool promote) {
  using Types = Operands<Mma, 1, __nv_bfloat16>;
  if (promote) {
    static const Kernel kernels[] = {kernel_of<Types, Tile<256, 128, 4, 2>, true>(),
                                     kernel_of<Types, Tile<128, 128, 6, 2>, true>(),
                                     kernel_of<Types, Tile<64, 128, 8, 1>, true>(),
                                     kernel_of<Types, Tile<64, 64, 8, 1>, true>()};
    return kernels;
  }
  static const Kernel kernels[] = {
      kernel_of<Types, Tile<128, 256, 4, 2>>(), kernel_of<Types, Tile<256, 128, 4, 2>>(),
      kernel_of<Types, Tile<128, 128, 6, 2>>(), kernel_of<Types, Tile<64, 128, 8, 1>>(),
      kernel_of<Types, Tile<64, 64, 8, 1>>()};
  return kernels;
}

}  // namespace

std::span<const Kernel> fp8_kernels(bool a_is_e5m2, bool promote) {
  return a_is_e5m2 ? kernels_of<WgmmaE5m2ByE4m3>(promote) : kernels_of<WgmmaE4m3>(promote);
}

}  // namespace gpubench::sm90a
