// SPDX-License-Identifier: Apache-2.0
// GEMM checks on the cpu device, where operands are stored as FP32, or FP64 where they are FP64,
// and INT8 products as INT32: plain loops, no math library. Sums are in double; those of FP64 data
// are in long double, since a sum in double would be no better than what it checks.
#include <algorithm>
#include <limits>
#include <vector>

#include "ops/gemm/epilogue.h"
#include "ops/gemm/reference.h"
#include "ops/support/parallel.h"

namespace gpubench {
namespace {

static_assert(std::numeric_limits<long double>::digits >= 64,
              "the check of FP64 products needs a wider type");

// Register tile of the product: 4 x 4 sums stay in registers on any x86-64.
constexpr std::int64_t kTile = 4;

/// One matrix of a batch, element by element.
class Reader {
 public:
  Reader(const MatrixView& matrix, Dtype dtype, std::int64_t batch)
      : matrix_(matrix), dtype_(dtype), begin_(batch * matrix.batch_stride) {}

  double operator()(std::int64_t row, std::int64_t column) const {
    const std::int64_t at = begin_ + row * matrix_.row_stride + column * matrix_.column_stride;
    switch (dtype_) {
      case Dtype::fp64:
        return static_cast<const double*>(matrix_.data)[at];
      case Dtype::int32:
        return static_cast<const std::int32_t*>(matrix_.data)[at];
      default:
        return static_cast<double>(static_cast<const float*>(matrix_.data)[at]);
    }
  }

 private:
  MatrixView matrix_;
  Dtype dtype_;
  std::int64_t begin_;
};

Reader a_of(const GemmReference& problem, std::int64_t batch) {
  return {problem.a, problem.a_dtype, batch};
}
Reader b_of(const GemmReference& problem, std::int64_t batch) {
  return {problem.b, problem.b_dtype, batch};
}
Reader c_of(const GemmReference& problem, const void* c, Dtype dtype, std::int64_t batch) {
  return {{c, problem.n, 1, problem.m * problem.n}, dtype, batch};
}

/// packed[panel][k][kTile] of the rows (of A) or columns (of B), zeros past the end.
template <class At>
std::vector<double> pack(std::int64_t count, std::int64_t k, At at) {
  const std::int64_t panels = (count + kTile - 1) / kTile;
  std::vector<double> packed(static_cast<std::size_t>(panels * k * kTile));
  parallel_for(static_cast<std::size_t>(panels), 4, [&](std::size_t begin, std::size_t end) {
    for (auto panel = static_cast<std::int64_t>(begin); panel < static_cast<std::int64_t>(end);
         ++panel) {
      double* to = packed.data() + panel * k * kTile;
      for (std::int64_t depth = 0; depth < k; ++depth) {
        for (std::int64_t i = 0; i < kTile; ++i) {
          const std::int64_t index = panel * kTile + i;
          to[depth * kTile + i] = index < count ? at(index, depth) : 0.0;
        }
      }
    }
  });
  return packed;
}

template <class Sum>
void multiply_tile(const double* a, const double* b, std::int64_t k, Sum (&sums)[kTile][kTile]) {
  for (auto& row : sums) std::fill(std::begin(row), std::end(row), Sum{0});
  for (std::int64_t depth = 0; depth < k; ++depth, a += kTile, b += kTile) {
    for (int i = 0; i < kTile; ++i) {
      for (int j = 0; j < kTile; ++j) sums[i][j] += Sum{a[i]} * b[j];
    }
  }
}

/// Calls take(sum, row, column) for each element, in several threads, for A of `a_at(row, k)` and B
/// of `b_at(k, column)`.
template <class Sum, class AAt, class BAt, class Take>
void multiply(std::int64_t m, std::int64_t n, std::int64_t k, AAt a_at, BAt b_at, Take take) {
  const std::vector<double> a = pack(m, k, a_at);
  const std::vector<double> b =
      pack(n, k, [&](std::int64_t column, std::int64_t depth) { return b_at(depth, column); });
  const std::int64_t panels = (n + kTile - 1) / kTile;
  parallel_for(static_cast<std::size_t>(panels), 1, [&](std::size_t begin, std::size_t end) {
    for (auto panel = static_cast<std::int64_t>(begin); panel < static_cast<std::int64_t>(end);
         ++panel) {
      for (std::int64_t row = 0; row < m; row += kTile) {
        Sum sums[kTile][kTile];
        multiply_tile(a.data() + row * k, b.data() + panel * k * kTile, k, sums);
        for (std::int64_t i = 0; i < kTile && row + i < m; ++i) {
          for (std::int64_t j = 0; j < kTile && panel * kTile + j < n; ++j) {
            take(sums[i][j], row + i, panel * kTile + j);
          }
        }
      }
    }
  });
}

/// The element before the GELU.
template <class Sum>
Sum linear_element(const GemmReference& problem, Sum sum, std::int64_t batch, std::int64_t row,
                   std::int64_t column) {
  Sum value = problem.alpha * sum;
  if (problem.bias != nullptr) {
    value += Reader({problem.bias, 0, 1}, problem.bias_dtype, 0)(0, column);
  }
  if (problem.residual != nullptr) {
    value += c_of(problem, problem.residual, problem.bias_dtype, batch)(row, column);
  }
  return value;
}

template <class Sum, class Out>
void every_element(const GemmReference& problem, Out* out, Out* aux) {
  for (std::int64_t batch = 0; batch < problem.batch; ++batch) {
    multiply<Sum>(problem.m, problem.n, problem.k, a_of(problem, batch), b_of(problem, batch),
                  [&](Sum sum, std::int64_t row, std::int64_t column) {
                    const Sum value = linear_element(problem, sum, batch, row, column);
                    const std::int64_t at = (batch * problem.m + row) * problem.n + column;
                    if (aux != nullptr) aux[at] = static_cast<Out>(value);
                    out[at] = static_cast<Out>(problem.gelu ? gelu_tanh(value) : value);
                  });
  }
}

void reference(Stream&, const GemmReference& problem, float* out, float* aux) {
  every_element<double>(problem, out, aux);
}

void wide_reference(Stream&, const GemmReference& problem, double* out, double* aux) {
  // INT8 products need no more than double: their sums are integers far below 2^53.
  if (problem.a_dtype == Dtype::fp64) {
    every_element<long double>(problem, out, aux);
  } else {
    every_element<double>(problem, out, aux);
  }
}

/// out[rows][groups] = at(row, column) summed over each group of columns with its weights.
template <class At>
void project(std::int64_t rows, std::int64_t n, const std::vector<double>& weights, At at,
             double* out) {
  const std::int64_t groups = projection_groups(n);
  parallel_for(static_cast<std::size_t>(rows), 16, [&](std::size_t begin, std::size_t end) {
    for (auto row = static_cast<std::int64_t>(begin); row < static_cast<std::int64_t>(end); ++row) {
      for (std::int64_t group = 0; group < groups; ++group) {
        double sum = 0;
        const std::int64_t last = std::min(n, (group + 1) * kProjectionColumns);
        for (std::int64_t column = group * kProjectionColumns; column < last; ++column) {
          sum += at(row, column) * weights[static_cast<std::size_t>(column)];
        }
        out[row * groups + group] = sum;
      }
    }
  });
}

void projection(Stream&, const GemmReference& problem, const void* c, Dtype c_dtype,
                std::uint64_t seed, double* scratch, double* projected, double* wanted) {
  const std::int64_t m = problem.m, n = problem.n, k = problem.k, groups = projection_groups(n);
  std::vector<double> weights(static_cast<std::size_t>(n));
  for (std::int64_t column = 0; column < n; ++column) {
    weights[static_cast<std::size_t>(column)] = projection_weight(seed, column);
  }
  double* bias = scratch + problem.batch * k * groups;
  const Reader bias_row({problem.bias, 0, 1}, problem.bias_dtype, 0);
  project(
      1, n, weights,
      [&](std::int64_t row, std::int64_t column) {
        return problem.bias != nullptr ? bias_row(row, column) : 0.0;
      },
      bias);
  for (std::int64_t batch = 0; batch < problem.batch; ++batch) {
    double* projected_b = scratch + batch * k * groups;
    project(k, n, weights, b_of(problem, batch), projected_b);
    double* projected_c = projected + batch * m * groups;
    const bool residual = problem.residual != nullptr;
    if (residual) {  // until C takes its place
      project(m, n, weights, c_of(problem, problem.residual, problem.bias_dtype, batch),
              projected_c);
    }
    multiply<double>(m, groups, k, a_of(problem, batch),
                     Reader({projected_b, groups, 1}, Dtype::fp64, 0),
                     [&](double sum, std::int64_t row, std::int64_t group) {
                       const std::int64_t at = row * groups + group;
                       wanted[batch * m * groups + at] =
                           problem.alpha * sum + bias[group] + (residual ? projected_c[at] : 0);
                     });
    project(m, n, weights, c_of(problem, c, c_dtype, batch), projected_c);
  }
}

void samples(Stream&, const GemmReference& problem, const void* c, Dtype c_dtype,
             std::uint64_t seed, double* sampled, double* wanted) {
  const std::int64_t of_each = sample_count(problem.m, problem.n);
  const auto count = static_cast<std::size_t>(problem.batch * of_each);
  parallel_for(count, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::int64_t batch = static_cast<std::int64_t>(i) / of_each;
      const SamplePosition at = sample_position(
          batch_seed(seed, batch), static_cast<std::int64_t>(i) % of_each, problem.m, problem.n);
      const Reader a = a_of(problem, batch), b = b_of(problem, batch);
      long double sum = 0;
      for (std::int64_t k = 0; k < problem.k; ++k) {
        sum += static_cast<long double>(a(at.row, k)) * b(k, at.column);
      }
      const long double value = linear_element(problem, sum, batch, at.row, at.column);
      wanted[i] = static_cast<double>(problem.gelu ? gelu_tanh(value) : value);
      sampled[i] = c_of(problem, c, c_dtype, batch)(at.row, at.column);
    }
  });
}

}  // namespace

GemmCheckBackend cpu_gemm_checks() { return {reference, wide_reference, projection, samples}; }

}  // namespace gpubench
