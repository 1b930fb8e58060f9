// SPDX-License-Identifier: Apache-2.0
// Convolution checks on the cpu device, where operands are stored as FP32: plain loops in double
// over images and filter taps, no matrix and no math library.
#include <algorithm>
#include <vector>

#include "gpubench/error.h"
#include "ops/conv/reference.h"
#include "ops/support/parallel.h"

namespace gpubench {
namespace {

/// Calls body(index) for [0, count), shared out among threads.
template <class Body>
void for_each_row(std::int64_t count, const Body& body) {
  parallel_for(static_cast<std::size_t>(count), 1, [&](std::size_t begin, std::size_t end) {
    for (auto i = static_cast<std::int64_t>(begin); i < static_cast<std::int64_t>(end); ++i) {
      body(i);
    }
  });
}

/// Element sums of the three passes. `Second` is float, or double where it was projected.
template <class Second>
class HostConv {
 public:
  HostConv(const ConvShape& shape, const void* first, const void* second)
      : at_(shape),
        p_(shape.p()),
        q_(shape.q()),
        group_c_(shape.group_c()),
        group_k_(shape.group_k()),
        first_(static_cast<const float*>(first)),
        second_(static_cast<const Second*>(second)) {}

  /// y[n][p][q][k]
  double output(std::int64_t n, std::int64_t p, std::int64_t q, std::int64_t k) const {
    double sum = 0;
    for (std::int64_t r = 0; r < at_.r; ++r) {
      for (std::int64_t s = 0; s < at_.s; ++s) {
        const std::int64_t h = p * at_.stride + r * at_.dilation - at_.pad;
        const std::int64_t w = q * at_.stride + s * at_.dilation - at_.pad;
        if (h < 0 || h >= at_.h || w < 0 || w >= at_.w) continue;
        const float* x = first_ + image(n, h, w, k / group_k_ * group_c_);
        const Second* filter = second_ + tap(k, r, s);
        for (std::int64_t c = 0; c < group_c_; ++c) {
          sum += static_cast<double>(x[c]) * static_cast<double>(filter[c]);
        }
      }
    }
    return sum;
  }

  /// dx[n][h][w][c]
  double input_gradient(std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c) const {
    const std::int64_t group = c / group_c_;
    double sum = 0;
    for (std::int64_t r = 0; r < at_.r; ++r) {
      for (std::int64_t s = 0; s < at_.s; ++s) {
        const std::int64_t ph = h + at_.pad - r * at_.dilation;
        const std::int64_t qw = w + at_.pad - s * at_.dilation;
        if (ph < 0 || ph % at_.stride != 0 || ph / at_.stride >= p_) continue;
        if (qw < 0 || qw % at_.stride != 0 || qw / at_.stride >= q_) continue;
        const float* dy =
            first_ + output_place(n, ph / at_.stride, qw / at_.stride, group * group_k_);
        for (std::int64_t k = 0; k < group_k_; ++k) {
          sum += static_cast<double>(dy[k]) *
                 static_cast<double>(second_[tap(group * group_k_ + k, r, s) + c % group_c_]);
        }
      }
    }
    return sum;
  }

  /// dw[k][r][s][all channels of the group], added to `sums`: channels together, because the sum
  /// over a batch's positions is long and channels are neighbours in memory.
  void filter_gradient(std::int64_t k, std::int64_t r, std::int64_t s, double* sums) const {
    for (std::int64_t n = 0; n < at_.n; ++n) {
      for (std::int64_t p = 0; p < p_; ++p) {
        for (std::int64_t q = 0; q < q_; ++q) {
          const std::int64_t h = p * at_.stride + r * at_.dilation - at_.pad;
          const std::int64_t w = q * at_.stride + s * at_.dilation - at_.pad;
          if (h < 0 || h >= at_.h || w < 0 || w >= at_.w) continue;
          const auto dy = static_cast<double>(second_[output_place(n, p, q, k)]);
          const float* x = first_ + image(n, h, w, k / group_k_ * group_c_);
          for (std::int64_t c = 0; c < group_c_; ++c) sums[c] += dy * static_cast<double>(x[c]);
        }
      }
    }
  }

 private:
  std::int64_t image(std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c) const {
    return ((n * at_.h + h) * at_.w + w) * at_.c + c;
  }
  std::int64_t output_place(std::int64_t n, std::int64_t p, std::int64_t q, std::int64_t k) const {
    return ((n * p_ + p) * q_ + q) * at_.k + k;
  }
  std::int64_t tap(std::int64_t k, std::int64_t r, std::int64_t s) const {
    return ((k * at_.r + r) * at_.s + s) * group_c_;
  }

  ConvShape at_;
  std::int64_t p_, q_, group_c_, group_k_;
  const float* first_;
  const Second* second_;
};

template <class Second>
void compute(const ConvReference& problem, float* out) {
  const ConvShape& at = problem.shape;
  const HostConv<Second> conv(at, problem.first, problem.second);
  if (problem.pass == ConvPass::forward) {
    const std::int64_t p = at.p(), q = at.q();
    for_each_row(at.n * p * q, [&](std::int64_t row) {
      for (std::int64_t k = 0; k < at.k; ++k) {
        out[row * at.k + k] = static_cast<float>(conv.output(row / q / p, row / q % p, row % q, k));
      }
    });
  } else if (problem.pass == ConvPass::dgrad) {
    for_each_row(at.n * at.h * at.w, [&](std::int64_t row) {
      for (std::int64_t c = 0; c < at.c; ++c) {
        out[row * at.c + c] = static_cast<float>(
            conv.input_gradient(row / at.w / at.h, row / at.w % at.h, row % at.w, c));
      }
    });
  } else {
    const std::int64_t channels = at.group_c();
    for_each_row(at.k * at.r * at.s, [&](std::int64_t row) {
      std::vector<double> sums(static_cast<std::size_t>(channels));
      conv.filter_gradient(row / at.s / at.r, row / at.s % at.r, row % at.s, sums.data());
      for (std::int64_t c = 0; c < channels; ++c) {
        out[row * channels + c] = static_cast<float>(sums[static_cast<std::size_t>(c)]);
      }
    });
  }
}

void reference(Stream& stream, const ConvReference& problem, float* out, void*) {
  stream.synchronize();
  if (problem.second_dtype == Dtype::fp64) {
    compute<double>(problem, out);
  } else {
    compute<float>(problem, out);
  }
}

void projection(Stream& stream, const ConvProjection& of, void* out, Dtype out_dtype) {
  stream.synchronize();
  const std::int64_t group_channels = of.channels / of.groups;
  const std::int64_t blocks = projection_groups(group_channels);
  const auto* data = static_cast<const float*>(of.data);
  for_each_row(of.outer * of.groups * blocks, [&](std::int64_t row) {
    const std::int64_t begin = row % blocks * kProjectionColumns;
    const std::int64_t end = std::min(group_channels, begin + kProjectionColumns);
    const std::int64_t group = row / blocks;  // counted through `outer`, too
    for (std::int64_t inner = 0; inner < of.inner; ++inner) {
      double sum = 0;
      for (std::int64_t channel = begin; channel < end; ++channel) {
        sum += static_cast<double>(data[(group * group_channels + channel) * of.inner + inner]) *
               projection_weight(of.seed, channel);
      }
      const std::int64_t at = row * of.inner + inner;
      if (out_dtype == Dtype::fp64) {
        static_cast<double*>(out)[at] = sum;
      } else {
        static_cast<float*>(out)[at] = static_cast<float>(sum);
      }
    }
  });
}

double sample(const HostConv<float>& conv, const ConvReference& problem, const SamplePosition& at,
              std::vector<double>& sums) {
  const ConvShape& shape = problem.shape;
  const std::int64_t row = at.row;
  if (problem.pass == ConvPass::forward) {
    const std::int64_t p = shape.p(), q = shape.q();
    return conv.output(row / q / p, row / q % p, row % q, at.column);
  }
  if (problem.pass == ConvPass::dgrad) {
    return conv.input_gradient(row / shape.w / shape.h, row / shape.w % shape.h, row % shape.w,
                               at.column);
  }
  const std::int64_t channels = shape.group_c(), tap = at.column / channels;
  sums.assign(static_cast<std::size_t>(channels), 0.0);
  conv.filter_gradient(row, tap / shape.s, tap % shape.s, sums.data());
  return sums[static_cast<std::size_t>(at.column % channels)];
}

void samples(Stream& stream, const ConvReference& problem, const void* out, Dtype,
             std::uint64_t seed, float* sampled, float* wanted) {
  stream.synchronize();
  const ConvMatrix matrix = conv_matrix(problem.pass, problem.shape);
  const HostConv<float> conv(problem.shape, problem.first, problem.second);
  const auto* given = static_cast<const float*>(out);
  for_each_row(sample_count(matrix.rows, matrix.columns), [&](std::int64_t i) {
    std::vector<double> sums;
    const SamplePosition at = sample_position(seed, i, matrix.rows, matrix.columns);
    wanted[i] = static_cast<float>(sample(conv, problem, at, sums));
    sampled[i] = given[at.row * matrix.columns + at.column];
  });
}

}  // namespace

ConvCheckBackend cpu_conv_checks() { return {reference, projection, samples}; }

}  // namespace gpubench
