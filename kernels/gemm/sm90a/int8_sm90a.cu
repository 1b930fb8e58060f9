// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/sm90a/kernel.cuh"

namespace gpubench::sm90a {

std::span<const Kernel> int8_kernels() {
  using Types = Operands<WgmmaInt8, 1, std::int32_t>;
  static const Kernel kernels[] = {
      kernel_of<Types, Tile<128, 256, 4, 2>>(), kernel_of<Types, Tile<256, 128, 4, 2>>(),
      kernel_of<Types, Tile<128, 128, 6, 2>>(), kernel_of<Types, Tile<64, 128, 8, 1>>(),
      kernel_of<Types, Tile<64, 64, 8, 1>>()};
  return kernels;
}

}  // namespace gpubench::sm90a
