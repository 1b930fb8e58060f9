// SPDX-License-Identifier: Apache-2.0
// Convolutions in double, to verify providers: every element, or for work too large for that the
// same convolution of fewer channels (a projection) plus samples. `stream` is a cudaStream_t.
// Activations are [n][h][w][c] and [n][p][q][k], filters [k][r][s][c / groups], without padding
// between rows. The two inputs are in the order of conv_operands(): forward x, w; dgrad dy, w;
// wgrad x, dy.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpubench/dtype.h"
#include "kernels/check/gemm_sampling.h"

namespace gpubench {

enum class ConvPass { forward, dgrad, wgrad };

/// One stride, padding and dilation for both directions.
struct ConvShape {
  std::int64_t n = 1, h = 1, w = 1, c = 1;  ///< input: batch, height, width, channels
  std::int64_t k = 1, r = 1, s = 1;         ///< filters, and their height and width
  std::int64_t stride = 1, pad = 0, dilation = 1, groups = 1;

  constexpr std::int64_t p() const { return extent(h, r); }  ///< output height, below 1: none
  constexpr std::int64_t q() const { return extent(w, s); }  ///< output width
  constexpr std::int64_t group_c() const { return c / groups; }
  constexpr std::int64_t group_k() const { return k / groups; }

 private:
  constexpr std::int64_t extent(std::int64_t size, std::int64_t filter) const {
    const std::int64_t room = size + 2 * pad - (dilation * (filter - 1) + 1);
    return room < 0 ? 0 : room / stride + 1;
  }
};

/// The output as a matrix of rows x columns, one product of matrices per group behind each element:
/// forward [n p q][k], dgrad [n h w][c], wgrad [k][r s c / groups].
struct ConvMatrix {
  std::int64_t rows = 0, columns = 0;
  std::int64_t depth = 0;  ///< terms of each sum, those that meet padding included
};

constexpr ConvMatrix conv_matrix(ConvPass pass, const ConvShape& shape) {
  const std::int64_t outputs = shape.n * shape.p() * shape.q(), taps = shape.r * shape.s;
  switch (pass) {
    case ConvPass::forward:
      return {outputs, shape.k, taps * shape.group_c()};
    case ConvPass::dgrad:
      return {shape.n * shape.h * shape.w, shape.c, taps * shape.group_k()};
    case ConvPass::wgrad:
      break;
  }
  return {shape.k, taps * shape.group_c(), outputs};
}

struct ConvReference {
  ConvPass pass = ConvPass::forward;
  ConvShape shape = {};
  const void* first = nullptr;
  Dtype first_dtype = Dtype::fp32;
  const void* second = nullptr;
  Dtype second_dtype = Dtype::fp32;  ///< FP64 where it was projected
};

/// Weighted sums of blocks of channels (kProjectionColumns of them, none across two groups):
/// [outer][channels][inner] becomes [outer][groups * projection_groups(channels / groups)][inner].
/// A channel's weight depends on its place in its group, so that an input and an output agree.
struct ConvProjection {
  const void* data = nullptr;
  Dtype dtype = Dtype::fp32;
  std::int64_t outer = 0, channels = 0, inner = 0, groups = 1;
  std::uint64_t seed = 0;
};

/// Every element, rounded to FP32 at the end. Throws Unsupported where a side of the matrix passes
/// 2^31.
void launch_conv_reference(void* stream, const ConvReference& problem, float* out, void* scratch);

/// `out` is FP32 or FP64.
void launch_conv_projection(void* stream, const ConvProjection& projection, void* out,
                            Dtype out_dtype);

/// One element at a seeded position of each tile of the matrix: the given output's into `sampled`,
/// in double into `wanted`; both of sample_count(rows, columns) values.
void launch_conv_samples(void* stream, const ConvReference& problem, const void* out,
                         Dtype out_dtype, std::uint64_t seed, float* sampled, float* wanted);

}  // namespace gpubench
