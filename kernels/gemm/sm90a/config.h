// SPDX-License-Identifier: Apache-2.0
// Which ways there are to run a problem, how long each may take, and what the launch needs to know.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/gemm/sm90a/params.h"

namespace gpubench::sm90a {

/// A kernel of the table and how it is launched; packed into GemmConfig::index.
struct Choice {
  int kernel = 0;  ///< below 16
  int cluster_m = 1, cluster_n = 1;
  int stagger = 0;
  int splits = 1;
  int index() const {
    return kernel | (cluster_m - 1) << 4 | (cluster_n - 1) << 5 | stagger << 6 | splits << 8;
  }
  static Choice of(int index) {
    return {index & 15, 1 + (index >> 4 & 1), 1 + (index >> 5 & 1), index >> 6 & 3, index >> 8};
  }
};

/// Where the parts of the workspace are.
struct Workspace {
  std::size_t a_at = 0, b_at = 0, partials_at = 0, bytes = 0;
  bool copy_a = false, copy_b = false;
};

std::span<const Kernel> kernels_of(const GemmArguments& arguments);
int element_bytes(GemmType type);
int output_bytes(GemmType type);
/// Elements from a row of an operand's copy (or of the operand, if it needs none) to the next.
std::int64_t aligned_pitch(std::int64_t columns, int element_bytes);
std::int64_t partial_pitch(std::int64_t n);
Workspace workspace_of(const GemmArguments& arguments, int splits);

inline std::int64_t blocks_of(std::int64_t size, std::int64_t block) {
  return (size + block - 1) / block;
}

}  // namespace gpubench::sm90a
