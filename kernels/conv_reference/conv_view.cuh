// SPDX-License-Identifier: Apache-2.0
// A convolution seen as a product of matrices per group: which element of an operand a place of
// such a matrix holds. Written out plainly, with divisions: they cost little beside FP64.
#pragma once

#include <cstdint>

#include "kernels/common/convert.cuh"
#include "kernels/conv_reference/conv_reference.h"

namespace gpubench::conv_reference {

/// 32 bits, because a division of 64 costs several times one of 32; the launcher checks that all
/// fits.
struct View {
  std::uint32_t h, w, c, k, r, s, p, q;
  std::uint32_t stride, pad, dilation, group_c, group_k;
  const void *first, *second;
  Dtype first_dtype, second_dtype;
};

__device__ inline double load_element(const void* data, Dtype dtype, std::int64_t index) {
  switch (dtype) {
    case Dtype::fp64:
      return static_cast<const double*>(data)[index];
    case Dtype::fp16:
      return to_double(static_cast<const __half*>(data)[index]);
    case Dtype::bf16:
      return to_double(static_cast<const __nv_bfloat16*>(data)[index]);
    default:
      return to_double(static_cast<const float*>(data)[index]);
  }
}

constexpr std::int64_t kPadding = -1;  // the index of a place that holds zero

/// x at the place that output (n, p, q) meets under filter tap (r, s).
__device__ inline std::int64_t input_index(const View& view, std::uint32_t npq, std::uint32_t r,
                                           std::uint32_t s, std::uint32_t channel) {
  const std::uint32_t q = npq % view.q, np = npq / view.q, p = np % view.p, n = np / view.p;
  // Above the top or left of the image the difference wraps around to a large number.
  const std::uint32_t h = p * view.stride + r * view.dilation - view.pad;
  const std::uint32_t w = q * view.stride + s * view.dilation - view.pad;
  if (h >= view.h || w >= view.w) return kPadding;
  return ((static_cast<std::int64_t>(n) * view.h + h) * view.w + w) * view.c + channel;
}

/// dy at the output that meets input (n, h, w) under filter tap (r, s); often there is none.
__device__ inline std::int64_t output_index(const View& view, std::uint32_t nhw, std::uint32_t r,
                                            std::uint32_t s, std::uint32_t filter) {
  const std::uint32_t w = nhw % view.w, nh = nhw / view.w, h = nh % view.h, n = nh / view.h;
  const std::uint32_t down = h + view.pad, right = w + view.pad;
  if (down < r * view.dilation || right < s * view.dilation) return kPadding;
  const std::uint32_t ph = down - r * view.dilation, qw = right - s * view.dilation;
  if (ph % view.stride != 0 || qw % view.stride != 0) return kPadding;
  const std::uint32_t p = ph / view.stride, q = qw / view.stride;
  if (p >= view.p || q >= view.q) return kPadding;
  return ((static_cast<std::int64_t>(n) * view.p + p) * view.q + q) * view.k + filter;
}

/// Row `row` and depth `depth` of the left matrix of a group.
template <ConvPass pass>
__device__ double left(const View& view, std::uint32_t group, std::uint32_t row,
                       std::uint32_t depth) {
  std::int64_t index = kPadding;
  if constexpr (pass == ConvPass::forward) {
    const std::uint32_t c = depth % view.group_c, tap = depth / view.group_c;
    index = input_index(view, row, tap / view.s, tap % view.s, group * view.group_c + c);
    return index < 0 ? 0 : load_element(view.first, view.first_dtype, index);
  } else if constexpr (pass == ConvPass::dgrad) {
    const std::uint32_t k = depth % view.group_k, tap = depth / view.group_k;
    index = output_index(view, row, tap / view.s, tap % view.s, group * view.group_k + k);
    return index < 0 ? 0 : load_element(view.first, view.first_dtype, index);
  } else {
    index = static_cast<std::int64_t>(depth) * view.k + group * view.group_k + row;
    return load_element(view.second, view.second_dtype, index);
  }
}

/// Depth `depth` and column `column` of the right matrix of a group.
template <ConvPass pass>
__device__ double right(const View& view, std::uint32_t group, std::uint32_t depth,
                        std::uint32_t column) {
  const std::int64_t taps = static_cast<std::int64_t>(view.r) * view.s;
  if constexpr (pass == ConvPass::forward) {
    const std::int64_t k = group * view.group_k + column;
    return load_element(view.second, view.second_dtype, k * taps * view.group_c + depth);
  } else if constexpr (pass == ConvPass::dgrad) {
    const std::int64_t k = group * view.group_k + depth % view.group_k;
    const std::int64_t tap = depth / view.group_k;
    return load_element(view.second, view.second_dtype, (k * taps + tap) * view.group_c + column);
  } else {
    const std::uint32_t c = column % view.group_c, tap = column / view.group_c;
    const std::int64_t index =
        input_index(view, depth, tap / view.s, tap % view.s, group * view.group_c + c);
    return index < 0 ? 0 : load_element(view.first, view.first_dtype, index);
  }
}

}  // namespace gpubench::conv_reference
