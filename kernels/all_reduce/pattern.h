// SPDX-License-Identifier: Apache-2.0
// Inputs for which an all-reduce has one right answer: small random integers, another on every rank
// and element, whose sum over all ranks the element type holds exactly, so that no order of
// additions rounds. What is expected of an element follows from its position alone: nothing is
// stored and nothing is exchanged to check it.
#pragma once

#include <cstdint>

#include "kernels/common/random.h"

namespace gpubench {

enum class ReduceType { fp32, bf16, fp16, fp8, int32 };  ///< fp8 is E4M3
enum class ReduceOp { sum, max, avg };

struct ReducePattern {
  ReduceType type = ReduceType::fp32;
  ReduceOp op = ReduceOp::sum;
  int ranks = 1;
  std::uint32_t range = 1;  ///< values are 1 ... range
  std::uint64_t seed = 1;
};

struct PatternInputs {
  std::uint32_t v[4];
};
struct PatternOutputs {
  double v[4];
};

/// Elements 4 block ... 4 block + 3 of a rank's input.
GPUBENCH_HOST_DEVICE inline PatternInputs pattern_inputs(const ReducePattern& pattern, int rank,
                                                         std::uint64_t block) {
  const random::Words words = random::philox(pattern.seed, static_cast<std::uint64_t>(rank), block);
  PatternInputs inputs{};
  for (int i = 0; i < 4; ++i) inputs.v[i] = 1 + words.v[i] % pattern.range;
  return inputs;
}

/// What every rank must have there afterwards. Exact: sums stay below 2^53.
GPUBENCH_HOST_DEVICE inline PatternOutputs pattern_outputs(const ReducePattern& pattern,
                                                           std::uint64_t block) {
  std::uint64_t sums[4] = {}, largest[4] = {};
  for (int rank = 0; rank < pattern.ranks; ++rank) {
    const PatternInputs inputs = pattern_inputs(pattern, rank, block);
    for (int i = 0; i < 4; ++i) {
      sums[i] += inputs.v[i];
      if (inputs.v[i] > largest[i]) largest[i] = inputs.v[i];
    }
  }
  PatternOutputs outputs{};
  const auto ranks = static_cast<std::uint64_t>(pattern.ranks);
  for (int i = 0; i < 4; ++i) {
    if (pattern.op == ReduceOp::max) {
      outputs.v[i] = static_cast<double>(largest[i]);
    } else if (pattern.op == ReduceOp::sum) {
      outputs.v[i] = static_cast<double>(sums[i]);
    } else if (pattern.type == ReduceType::int32) {
      outputs.v[i] = static_cast<double>(sums[i] / ranks);  // whole numbers: cut off
    } else {
      outputs.v[i] = static_cast<double>(sums[i]) / static_cast<double>(ranks);
    }
  }
  return outputs;
}

/// What a check found.
struct PatternFaults {
  std::uint64_t wrong = 0;  ///< elements that are not exactly as expected; NaN is not
  std::uint64_t first = 0;  ///< lowest index of a wrong element
  double max_error = 0;     ///< largest |out - expected| / expected of those that are finite
  std::uint64_t nonfinite = 0;
};

/// Fills `count` elements with the input of `rank`. `stream` is a cudaStream_t; `to` is aligned to
/// 16 bytes, its elements are stored as the type says.
void launch_pattern_fill(void* stream, void* to, const ReducePattern& pattern, int rank,
                         std::uint64_t count);
/// Compares `count` elements; writes a PatternFaults to `faults` in device memory, `first` being
/// all ones where nothing is wrong.
void launch_pattern_check(void* stream, const void* out, const ReducePattern& pattern,
                          std::uint64_t count, void* faults);

}  // namespace gpubench
