// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/problem.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "gpubench/error.h"
#include "util/units.h"

namespace gpubench {
namespace {

// Far beyond any network, and small enough that no sum of two or product with a filter overflows.
constexpr std::int64_t kLargestExtent = std::int64_t{1} << 20;
constexpr std::int64_t kLargestCount = std::int64_t{1} << 40;

void require_range(const char* name, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value >= least && value <= most) return;
  throw ConfigError(fmt::format("{}={} is out of range: from {} to {}", name, value, least, most),
                    "E_SIZE");
}

void require_groups(const char* name, std::int64_t channels, std::int64_t groups) {
  if (channels % groups == 0) return;
  throw ConfigError(fmt::format("groups={} does not divide {}={}", groups, name, channels),
                    "E_SIZE");
}

void require_output(const char* filter_name, std::int64_t filter, const char* name,
                    std::int64_t size, const ConvShape& shape) {
  const std::int64_t reach = shape.dilation * (filter - 1) + 1;
  if (reach <= size + 2 * shape.pad) return;
  throw ConfigError(
      fmt::format("{0}={1} with dilation={2} reaches over {3} places, but {4}={5} with pad={6} has "
                  "{7}: no output; choose a smaller {0} or dilation, or a larger {4} or pad",
                  filter_name, filter, shape.dilation, reach, name, size, shape.pad,
                  size + 2 * shape.pad),
      "E_SIZE");
}

void require_valid(const ConvShape& shape) {
  require_range("n", shape.n, 1, kLargestCount);
  require_range("c", shape.c, 1, kLargestCount);
  require_range("k", shape.k, 1, kLargestCount);
  require_range("h", shape.h, 1, kLargestExtent);
  require_range("w", shape.w, 1, kLargestExtent);
  require_range("r", shape.r, 1, kLargestExtent);
  require_range("s", shape.s, 1, kLargestExtent);
  require_range("stride", shape.stride, 1, kLargestExtent);
  require_range("pad", shape.pad, 0, kLargestExtent);
  require_range("dilation", shape.dilation, 1, kLargestExtent);
  require_range("groups", shape.groups, 1, kLargestCount);
  require_groups("c", shape.c, shape.groups);
  require_groups("k", shape.k, shape.groups);
  require_output("r", shape.r, "h", shape.h, shape);
  require_output("s", shape.s, "w", shape.w, shape);
}

std::size_t count(const char* sizes, std::initializer_list<std::int64_t> factors) {
  std::uint64_t product = 1;
  try {
    for (const std::int64_t factor : factors) {
      product = checked_mul({product, static_cast<std::uint64_t>(factor)});
    }
    // Room for the bytes, and for the positions of elements as signed numbers.
    checked_mul({product, 2 * sizeof(double)});
  } catch (const ConfigError&) {
    throw ConfigError(fmt::format("{} is more than 64 bits hold; choose smaller sizes", sizes),
                      "E_SIZE_OVERFLOW");
  }
  return static_cast<std::size_t>(product);
}

}  // namespace

ConvPass parse_conv_pass(const std::string& text) {
  if (text == "forward") return ConvPass::forward;
  if (text == "dgrad") return ConvPass::dgrad;
  if (text == "wgrad") return ConvPass::wgrad;
  throw ConfigError("unknown pass '" + text + "'; there are: forward, dgrad, wgrad");
}

Dtype conv_output_dtype(Dtype dtype) { return dtype == Dtype::tf32 ? Dtype::fp32 : dtype; }

std::vector<Operand> conv_operands(const ConvProblem& problem) {
  const ConvShape& shape = problem.shape;
  require_valid(shape);
  const std::size_t x = count("n * h * w * c", {shape.n, shape.h, shape.w, shape.c});
  const std::size_t y = count("n * p * q * k", {shape.n, shape.p(), shape.q(), shape.k});
  const std::size_t w = count("k * r * s * c", {shape.k, shape.r, shape.s, shape.group_c()});
  // The fourth root for each input makes outputs of order 1 and keeps both far from FP16's ends,
  // where the square root for one of them, over a batch's positions, would not.
  const auto depth = static_cast<double>(conv_matrix(problem.pass, shape).depth);
  const auto input = [&](std::string name, std::size_t elements) {
    return Operand{.name = std::move(name),
                   .role = Role::input,
                   .dtype = problem.dtype,
                   .count = elements,
                   .scale = std::pow(depth, -0.25)};
  };
  const auto output = [&](std::string name, std::size_t elements) {
    return Operand{.name = std::move(name),
                   .role = Role::output,
                   .dtype = conv_output_dtype(problem.dtype),
                   .count = elements,
                   .tolerance = conv_tolerance(problem)};
  };
  switch (problem.pass) {
    case ConvPass::forward:
      return {input("x", x), input("w", w), output("y", y)};
    case ConvPass::dgrad:
      return {input("dy", y), input("w", w), output("dx", x)};
    case ConvPass::wgrad:
      break;
  }
  return {input("x", x), input("dy", y), output("dw", w)};
}

double conv_tolerance(const ConvProblem& problem) {
  const auto depth = static_cast<double>(conv_matrix(problem.pass, problem.shape).depth);
  const double fp32 = unit_roundoff(Dtype::fp32);
  const double output = 1.25 * unit_roundoff(conv_output_dtype(problem.dtype));
  // Rounded additions wander as the root of their number, six standard deviations at most.
  const double wandering = 8 * fp32 * (std::sqrt(depth) + 1);
  if (problem.dtype == Dtype::fp32) return output + wandering;
  // Tensor cores truncate when they add a group of products to the sum, an error of one sign. They
  // take at least four products at a time, so there are depth / 4 such errors; wgrad's depth, all
  // positions of the batch, is where that matters.
  const double truncated = fp32 * depth / 4;
  // TF32: FP32 data are cut, each product off by up to four round-offs (as in gemm_tolerance).
  const double inputs = problem.dtype == Dtype::tf32 ? 8 * unit_roundoff(Dtype::tf32) : 0;
  return output + inputs + wandering + truncated;
}

}  // namespace gpubench
