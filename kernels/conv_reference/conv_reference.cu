// SPDX-License-Identifier: Apache-2.0
// A block of 16 x 16 threads makes a 64 x 64 tile of one group's matrix, each thread 4 x 4 of it
// with a stride of 16. Where there are too few tiles to fill a GPU (wgrad: few filters, a reduction
// over the whole batch) the depth is split and the parts are added in a fixed order.
#include <limits>

#include "gpubench/error.h"
#include "kernels/common/launch.cuh"
#include "kernels/conv_reference/conv_reference.h"
#include "kernels/conv_reference/conv_split.h"
#include "kernels/conv_reference/conv_view.cuh"

namespace gpubench {
namespace {

using conv_reference::left;
using conv_reference::load_element;
using conv_reference::right;
using conv_reference::View;

constexpr int kTile = ConvSplit::kTile, kDepth = ConvSplit::kDepth, kSide = 16,
              kPerThread = kTile / kSide;
constexpr int kThreads = kSide * kSide;
constexpr int kLoads = kTile * kDepth / kThreads;
constexpr int kPitch = kTile + 1;
constexpr int kWarp = 32;

/// How one launch is divided among blocks.
struct Division {
  std::uint32_t rows, columns, depth;  // of one group's matrix
  std::uint32_t groups, tiles_n, splits, depth_per_split;
  bool row_groups;  // wgrad: groups follow each other in the rows, else in the columns
};

/// Index in the output of an element of a group's matrix.
__device__ std::int64_t place(const Division& division, std::uint32_t group, std::uint32_t row,
                              std::uint32_t column) {
  const std::int64_t rows = division.rows, columns = division.columns;
  return division.row_groups ? (group * rows + row) * columns + column
                             : (row * std::int64_t{division.groups} + group) * columns + column;
}

template <ConvPass pass>
__device__ void stage(double (*lefts)[kPitch], double (*rights)[kPitch], const View& view,
                      const Division& division, std::uint32_t group, std::uint32_t first_row,
                      std::uint32_t first_column, std::uint32_t depth, std::uint32_t depth_end) {
  // Neighbouring threads take neighbouring addresses: along the depth, but for the operands that
  // have their rows or columns innermost.
  constexpr bool kLeftByDepth = pass != ConvPass::wgrad;
  constexpr bool kRightByDepth = pass == ConvPass::forward;
#pragma unroll
  for (int i = 0; i < kLoads; ++i) {
    const std::uint32_t at = threadIdx.x + i * kThreads;
    const std::uint32_t left_depth = kLeftByDepth ? at % kDepth : at / kTile;
    const std::uint32_t row = kLeftByDepth ? at / kDepth : at % kTile;
    lefts[left_depth][row] = depth + left_depth < depth_end && first_row + row < division.rows
                                 ? left<pass>(view, group, first_row + row, depth + left_depth)
                                 : 0.0;
    const std::uint32_t right_depth = kRightByDepth ? at % kDepth : at / kTile;
    const std::uint32_t column = kRightByDepth ? at / kDepth : at % kTile;
    rights[right_depth][column] =
        depth + right_depth < depth_end && first_column + column < division.columns
            ? right<pass>(view, group, depth + right_depth, first_column + column)
            : 0.0;
  }
}

/// One split writes FP32 results, several write FP64 parts, one after the other.
template <ConvPass pass>
__global__ void __launch_bounds__(kThreads)
    tile_kernel(View view, Division division, float* out, double* parts, std::int64_t count) {
  __shared__ double lefts[kDepth][kPitch], rights[kDepth][kPitch];
  std::uint32_t block = blockIdx.x;
  const std::uint32_t split = block % division.splits;
  block /= division.splits;
  const std::uint32_t group = block % division.groups;
  block /= division.groups;
  const std::uint32_t first_column = block % division.tiles_n * kTile;
  const std::uint32_t first_row = block / division.tiles_n * kTile;
  const std::uint32_t depth_begin = split * division.depth_per_split;
  const std::uint32_t depth_end = min(division.depth, depth_begin + division.depth_per_split);
  const std::uint32_t tx = threadIdx.x % kSide, ty = threadIdx.x / kSide;

  double sums[kPerThread][kPerThread] = {};
  for (std::uint32_t depth = depth_begin; depth < depth_end; depth += kDepth) {
    stage<pass>(lefts, rights, view, division, group, first_row, first_column, depth, depth_end);
    __syncthreads();
#pragma unroll 4
    for (int d = 0; d < kDepth; ++d) {
      double a[kPerThread], b[kPerThread];
#pragma unroll
      for (int i = 0; i < kPerThread; ++i) {
        a[i] = lefts[d][ty + kSide * i];
        b[i] = rights[d][tx + kSide * i];
      }
#pragma unroll
      for (int i = 0; i < kPerThread; ++i) {
#pragma unroll
        for (int j = 0; j < kPerThread; ++j) sums[i][j] = fma(a[i], b[j], sums[i][j]);
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < kPerThread; ++i) {
#pragma unroll
    for (int j = 0; j < kPerThread; ++j) {
      const std::uint32_t row = first_row + ty + kSide * i, column = first_column + tx + kSide * j;
      if (row >= division.rows || column >= division.columns) continue;
      const std::int64_t at = place(division, group, row, column);
      if (division.splits == 1) {
        out[at] = static_cast<float>(sums[i][j]);
      } else {
        parts[split * count + at] = sums[i][j];
      }
    }
  }
}

__global__ void add_parts_kernel(const double* parts, std::uint32_t splits, std::int64_t count,
                                 float* out) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    double sum = 0;
    for (std::uint32_t split = 0; split < splits; ++split) sum += parts[split * count + i];
    out[i] = static_cast<float>(sum);
  }
}

__global__ void project_kernel(ConvProjection projection, void* out, Dtype out_dtype) {
  const std::int64_t group_channels = projection.channels / projection.groups;
  const std::int64_t blocks = projection_groups(group_channels);
  const std::int64_t count = projection.outer * projection.groups * blocks * projection.inner;
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    const std::int64_t inner = i % projection.inner, rest = i / projection.inner;
    const std::int64_t block = rest % blocks, group = rest / blocks % projection.groups;
    const std::int64_t outer = rest / blocks / projection.groups;
    const std::int64_t begin = block * kProjectionColumns;
    const std::int64_t end =
        begin + kProjectionColumns < group_channels ? begin + kProjectionColumns : group_channels;
    double sum = 0;
    for (std::int64_t channel = begin; channel < end; ++channel) {
      const std::int64_t at =
          (outer * projection.channels + group * group_channels + channel) * projection.inner +
          inner;
      sum += load_element(projection.data, projection.dtype, at) *
             projection_weight(projection.seed, channel);
    }
    if (out_dtype == Dtype::fp64) {
      static_cast<double*>(out)[i] = sum;
    } else {
      static_cast<float*>(out)[i] = static_cast<float>(sum);
    }
  }
}

/// A warp per sample.
template <ConvPass pass>
__global__ void sample_kernel(View view, Division division, const void* out, Dtype out_dtype,
                              std::uint64_t seed, float* sampled, float* wanted) {
  const std::int64_t rows =
      std::int64_t{division.rows} * (division.row_groups ? division.groups : 1);
  const std::int64_t columns =
      std::int64_t{division.columns} * (division.row_groups ? 1 : division.groups);
  const std::int64_t samples = sample_count(rows, columns);
  const std::int64_t warps = std::int64_t{gridDim.x} * blockDim.x / kWarp;
  std::int64_t i = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / kWarp;
  for (; i < samples; i += warps) {
    const SamplePosition at = sample_position(seed, i, rows, columns);
    const std::int64_t group =
        division.row_groups ? at.row / division.rows : at.column / division.columns;
    const auto row = static_cast<std::uint32_t>(at.row % division.rows);
    const auto column = static_cast<std::uint32_t>(at.column % division.columns);
    double sum = 0;
    for (std::uint32_t depth = threadIdx.x % kWarp; depth < division.depth; depth += kWarp) {
      sum += left<pass>(view, static_cast<std::uint32_t>(group), row, depth) *
             right<pass>(view, static_cast<std::uint32_t>(group), depth, column);
    }
    for (int lane = kWarp / 2; lane > 0; lane /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lane);
    if (threadIdx.x % kWarp == 0) {
      wanted[i] = static_cast<float>(sum);
      sampled[i] = static_cast<float>(load_element(out, out_dtype, at.row * columns + at.column));
    }
  }
}

std::uint32_t narrow(std::int64_t size) {
  if (size >= 0 && size <= std::numeric_limits<std::int32_t>::max()) {
    return static_cast<std::uint32_t>(size);
  }
  throw Unsupported("E_UNSUPPORTED_SHAPE",
                    "too large for the reference convolution: n * h * w, n * p * q and r * s * "
                    "channels have to stay below 2^31; choose a smaller n");
}

Division divide(ConvPass pass, const ConvShape& shape) {
  const ConvSplit sizes = conv_split(pass, shape);
  narrow(sizes.tiles * sizes.splits);
  narrow(shape.h + 2 * shape.pad);  // places beside the image wrap around: see input_index
  narrow(shape.w + 2 * shape.pad);
  return {.rows = narrow(sizes.rows),
          .columns = narrow(sizes.columns),
          .depth = narrow(conv_matrix(pass, shape).depth),
          .groups = narrow(shape.groups),
          .tiles_n = narrow(sizes.tiles_n),
          .splits = narrow(sizes.splits),
          .depth_per_split = narrow(sizes.depth_per_split),
          .row_groups = pass == ConvPass::wgrad};
}

View view_of(const ConvReference& problem) {
  const ConvShape& shape = problem.shape;
  return {.h = narrow(shape.h),
          .w = narrow(shape.w),
          .c = narrow(shape.c),
          .k = narrow(shape.k),
          .r = narrow(shape.r),
          .s = narrow(shape.s),
          .p = narrow(shape.p()),
          .q = narrow(shape.q()),
          .stride = narrow(shape.stride),
          .pad = narrow(shape.pad),
          .dilation = narrow(shape.dilation),
          .group_c = narrow(shape.group_c()),
          .group_k = narrow(shape.group_k()),
          .first = problem.first,
          .second = problem.second,
          .first_dtype = problem.first_dtype,
          .second_dtype = problem.second_dtype};
}

std::int64_t count_of(ConvPass pass, const ConvShape& shape) {
  const ConvMatrix matrix = conv_matrix(pass, shape);
  return matrix.rows * matrix.columns;
}

/// Calls `launch` with the pass as a compile-time constant.
template <ConvPass pass>
struct PassConstant {
  static constexpr ConvPass value = pass;
};

template <class Launch>
void with_pass(ConvPass pass, const Launch& launch) {
  switch (pass) {
    case ConvPass::forward:
      return launch(PassConstant<ConvPass::forward>{});
    case ConvPass::dgrad:
      return launch(PassConstant<ConvPass::dgrad>{});
    case ConvPass::wgrad:
      return launch(PassConstant<ConvPass::wgrad>{});
  }
}

}  // namespace

void launch_conv_reference(void* stream, const ConvReference& problem, float* out, void* scratch) {
  const cudaStream_t queue = native_stream(stream);
  const Division division = divide(problem.pass, problem.shape);
  const View view = view_of(problem);
  const std::int64_t count = count_of(problem.pass, problem.shape);
  auto* parts = static_cast<double*>(scratch);
  const auto tiles_m = static_cast<std::uint32_t>((division.rows + kTile - 1) / kTile);
  const unsigned blocks = tiles_m * division.tiles_n * division.groups * division.splits;
  with_pass(problem.pass, [&](auto pass) {
    tile_kernel<decltype(pass)::value>
        <<<blocks, kThreads, 0, queue>>>(view, division, out, parts, count);
  });
  check_launch("convolution reference");
  if (division.splits == 1) return;
  add_parts_kernel<<<grid_for(static_cast<std::uint64_t>(count), kThreads), kThreads, 0, queue>>>(
      parts, division.splits, count, out);
  check_launch("convolution reference parts");
}

void launch_conv_projection(void* stream, const ConvProjection& projection, void* out,
                            Dtype out_dtype) {
  const std::int64_t count = projection.outer * projection.groups *
                             projection_groups(projection.channels / projection.groups) *
                             projection.inner;
  project_kernel<<<grid_for(static_cast<std::uint64_t>(count), kThreads), kThreads, 0,
                   native_stream(stream)>>>(projection, out, out_dtype);
  check_launch("convolution projection");
}

void launch_conv_samples(void* stream, const ConvReference& problem, const void* out,
                         Dtype out_dtype, std::uint64_t seed, float* sampled, float* wanted) {
  const cudaStream_t queue = native_stream(stream);
  const Division division = divide(problem.pass, problem.shape);
  const View view = view_of(problem);
  const ConvMatrix matrix = conv_matrix(problem.pass, problem.shape);
  const auto samples = static_cast<std::uint64_t>(sample_count(matrix.rows, matrix.columns));
  with_pass(problem.pass, [&](auto pass) {
    sample_kernel<decltype(pass)::value>
        <<<grid_for(samples * kWarp, kThreads), kThreads, 0, queue>>>(
            view, division, out, out_dtype, seed, sampled, wanted);
  });
  check_launch("convolution samples");
}

}  // namespace gpubench
