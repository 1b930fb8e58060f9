// SPDX-License-Identifier: Apache-2.0
// How the reference convolution divides its work among blocks, and the scratch that it needs for
// it. Plain C++: a build without CUDA also says how much memory a case takes on a GPU.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/conv_reference/conv_reference.h"

namespace gpubench {

/// In 64 bits: whether the sizes fit the kernels is asked where something is launched.
struct ConvSplit {
  static constexpr int kTile = 64;   ///< rows and columns of a block's tile
  static constexpr int kDepth = 16;  ///< depth that is staged at a time

  std::int64_t rows, columns;  ///< of one group's matrix
  std::int64_t tiles_n, tiles;
  std::int64_t depth_per_split, splits;  ///< long sums are divided; their parts are added after
};

constexpr ConvSplit conv_split(ConvPass pass, const ConvShape& shape) {
  // Enough blocks for several waves on any GPU; parts stay within some tens of MB.
  constexpr std::int64_t kBlocks = 1024, kLeastDepth = 256;
  constexpr auto ceil_div = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  const ConvMatrix matrix = conv_matrix(pass, shape);
  ConvSplit split{};
  split.rows = pass == ConvPass::wgrad ? matrix.rows / shape.groups : matrix.rows;
  split.columns = pass == ConvPass::wgrad ? matrix.columns : matrix.columns / shape.groups;
  split.tiles_n = ceil_div(split.columns, ConvSplit::kTile);
  split.tiles = ceil_div(split.rows, ConvSplit::kTile) * split.tiles_n * shape.groups;
  const std::int64_t wanted =
      std::clamp<std::int64_t>(kBlocks / split.tiles, 1, ceil_div(matrix.depth, kLeastDepth));
  split.depth_per_split =
      ceil_div(ceil_div(matrix.depth, wanted), ConvSplit::kDepth) * ConvSplit::kDepth;
  split.splits = ceil_div(matrix.depth, split.depth_per_split);
  return split;
}

/// Bytes of scratch that launch_conv_reference() needs: partial sums of a long reduction.
constexpr std::size_t conv_reference_scratch_bytes(ConvPass pass, const ConvShape& shape) {
  const std::int64_t splits = conv_split(pass, shape).splits;
  const ConvMatrix matrix = conv_matrix(pass, shape);
  return splits == 1
             ? 0
             : static_cast<std::size_t>(splits * matrix.rows * matrix.columns) * sizeof(double);
}

}  // namespace gpubench
