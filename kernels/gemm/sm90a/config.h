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
  int kernel = 0;
  int cluster_m = 1, cluster_n = 1;
  int splits = 1;
  int index() const {
    return kernel + (cluster_m == 2 ? 16 : 0) + (cluster_n == 2 ? 32 : 0) + splits * 64;
  }
  static Choice of(int index) {
    return {index % 16, (index & 16) != 0 ? 2 : 1, (index & 32) != 0 ? 2 : 1, index / 64};
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
