// SPDX-License-Identifier: Apache-2.0
// GEMM checks on the cpu device, where every operand is stored as FP32: plain loops in double, no
// math library.
#include <algorithm>
#include <vector>

#include "ops/gemm/epilogue.h"
#include "ops/gemm/reference.h"
#include "ops/support/parallel.h"

namespace gpubench {
namespace {

// Register tile of the product: 4 x 4 sums stay in registers on any x86-64.
constexpr std::int64_t kTile = 4;

template <class T>
double element(const MatrixView& matrix, std::int64_t row, std::int64_t column) {
  const auto* data = static_cast<const T*>(matrix.data);
  return static_cast<double>(data[row * matrix.row_stride + column * matrix.column_stride]);
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

void multiply_tile(const double* a, const double* b, std::int64_t k, double (&sums)[kTile][kTile]) {
  for (auto& row : sums) std::fill(std::begin(row), std::end(row), 0.0);
  for (std::int64_t depth = 0; depth < k; ++depth, a += kTile, b += kTile) {
    for (int i = 0; i < kTile; ++i) {
      for (int j = 0; j < kTile; ++j) sums[i][j] += a[i] * b[j];
    }
  }
}

/// out[row][column] = finish(sum, column), for A of `a_at(row, k)` and B of `b_at(k, column)`.
template <class AAt, class BAt, class Finish>
void multiply(std::int64_t m, std::int64_t n, std::int64_t k, AAt a_at, BAt b_at, Finish finish,
              float* out) {
  const std::vector<double> a = pack(m, k, a_at);
  const std::vector<double> b =
      pack(n, k, [&](std::int64_t column, std::int64_t depth) { return b_at(depth, column); });
  const std::int64_t panels = (n + kTile - 1) / kTile;
  parallel_for(static_cast<std::size_t>(panels), 1, [&](std::size_t begin, std::size_t end) {
    for (auto panel = static_cast<std::int64_t>(begin); panel < static_cast<std::int64_t>(end);
         ++panel) {
      for (std::int64_t row = 0; row < m; row += kTile) {
        double sums[kTile][kTile];
        multiply_tile(a.data() + row * k, b.data() + panel * k * kTile, k, sums);
        for (std::int64_t i = 0; i < kTile && row + i < m; ++i) {
          for (std::int64_t j = 0; j < kTile && panel * kTile + j < n; ++j) {
            const std::int64_t column = panel * kTile + j;
            out[(row + i) * n + column] = static_cast<float>(finish(sums[i][j], column));
          }
        }
      }
    }
  });
}

double finish_element(const GemmReference& problem, double sum, std::int64_t column) {
  double value = problem.alpha * sum;
  if (problem.bias != nullptr) {
    value += static_cast<double>(static_cast<const float*>(problem.bias)[column]);
  }
  return problem.gelu ? gelu_tanh(value) : value;
}

void reference(Stream&, const GemmReference& problem, float* out) {
  multiply(
      problem.m, problem.n, problem.k,
      [&](std::int64_t row, std::int64_t k) { return element<float>(problem.a, row, k); },
      [&](std::int64_t k, std::int64_t column) { return element<float>(problem.b, k, column); },
      [&](double sum, std::int64_t column) { return finish_element(problem, sum, column); }, out);
}

/// out[rows][groups] = at(row, column) summed over each group of columns with its weights.
template <class At, class Out>
void project(std::int64_t rows, std::int64_t n, const std::vector<double>& weights, At at,
             Out* out) {
  const std::int64_t groups = projection_groups(n);
  parallel_for(static_cast<std::size_t>(rows), 16, [&](std::size_t begin, std::size_t end) {
    for (auto row = static_cast<std::int64_t>(begin); row < static_cast<std::int64_t>(end); ++row) {
      for (std::int64_t group = 0; group < groups; ++group) {
        double sum = 0;
        const std::int64_t last = std::min(n, (group + 1) * kProjectionColumns);
        for (std::int64_t column = group * kProjectionColumns; column < last; ++column) {
          sum += at(row, column) * weights[static_cast<std::size_t>(column)];
        }
        out[row * groups + group] = static_cast<Out>(sum);
      }
    }
  });
}

void projection(Stream&, const GemmReference& problem, const void* c, Dtype, std::uint64_t seed,
                double* scratch, float* projected, float* wanted) {
  const std::int64_t n = problem.n, groups = projection_groups(n);
  std::vector<double> weights(static_cast<std::size_t>(n));
  for (std::int64_t column = 0; column < n; ++column) {
    weights[static_cast<std::size_t>(column)] = projection_weight(seed, column);
  }
  double* bias = scratch + problem.k * groups;
  project(
      problem.k, n, weights,
      [&](std::int64_t k, std::int64_t column) { return element<float>(problem.b, k, column); },
      scratch);
  const MatrixView bias_row{problem.bias, n, 1};
  project(
      1, n, weights,
      [&](std::int64_t row, std::int64_t column) {
        return problem.bias != nullptr ? element<float>(bias_row, row, column) : 0.0;
      },
      bias);
  const MatrixView projected_b{scratch, groups, 1};
  multiply(
      problem.m, groups, problem.k,
      [&](std::int64_t row, std::int64_t k) { return element<float>(problem.a, row, k); },
      [&](std::int64_t k, std::int64_t group) { return element<double>(projected_b, k, group); },
      [&](double sum, std::int64_t group) { return problem.alpha * sum + bias[group]; }, wanted);
  const MatrixView c_view{c, n, 1};
  project(
      problem.m, n, weights,
      [&](std::int64_t row, std::int64_t column) { return element<float>(c_view, row, column); },
      projected);
}

void samples(Stream&, const GemmReference& problem, const void* c, Dtype, std::uint64_t seed,
             float* sampled, float* wanted) {
  const auto count = static_cast<std::size_t>(sample_count(problem.m, problem.n));
  const MatrixView c_view{c, problem.n, 1};
  parallel_for(count, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const SamplePosition at =
          sample_position(seed, static_cast<std::int64_t>(i), problem.m, problem.n);
      double sum = 0;
      for (std::int64_t k = 0; k < problem.k; ++k) {
        sum += element<float>(problem.a, at.row, k) * element<float>(problem.b, k, at.column);
      }
      wanted[i] = static_cast<float>(finish_element(problem, sum, at.column));
      sampled[i] = static_cast<float>(element<float>(c_view, at.row, at.column));
    }
  });
}

}  // namespace

GemmCheckBackend cpu_gemm_checks() { return {reference, projection, samples}; }

}  // namespace gpubench
