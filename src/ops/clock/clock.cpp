// SPDX-License-Identifier: Apache-2.0
#include "ops/clock/clock.h"

#include <algorithm>

#include "core/formulas.h"

namespace gpubench {
namespace {

constexpr double kUsualClockMhz = 1500;  // only for the length of the load
constexpr std::int64_t kSchedulers = 4;  // of an SM, each with 32 lanes
constexpr std::int64_t kWarp = 32;

std::int64_t chain_length(const ClockProblem& problem) {
  return std::int64_t{problem.steps} * (problem.tensor ? kMmaPerStep : kFmaPerStep);
}

std::int64_t chains_per_block(const ClockProblem& problem) {
  return problem.tensor ? std::int64_t{kMmaWarps} * kMmaChains
                        : std::int64_t{kFmaThreads} * kFmaChains;
}

/// At one warp-wide FMA per scheduler and clock, or one m16n8k16 per SM and clock: the rates of an
/// H100's datasheet.
std::int64_t least_cycles_per_step(bool tensor) {
  return tensor ? std::int64_t{kMmaWarps} * kMmaChains * kMmaPerStep
                : kFmaThreads / kWarp / kSchedulers * kFmaChains * kFmaPerStep;
}

}  // namespace

ClockProblem clock_problem(const DeviceInfo& device, bool tensor, std::int64_t milliseconds) {
  ClockProblem problem{.tensor = tensor, .blocks = std::max(device.sm_count, 1)};
  const double cycles =
      static_cast<double>(milliseconds) * 1e3 * device.max_sm_clock_mhz.value_or(kUsualClockMhz);
  problem.steps = static_cast<int>(cycles / static_cast<double>(least_cycles_per_step(tensor))) + 1;
  return problem;
}

std::vector<Operand> clock_operands(const ClockProblem& problem) {
  const auto outputs = static_cast<std::size_t>(problem.blocks * chains_per_block(problem) *
                                                (problem.tensor ? kMmaM * kMmaN : 1));
  std::vector<Operand> operands;
  if (problem.tensor) {
    operands.push_back({.name = "a", .role = Role::input, .count = std::size_t{kMmaM} * kMmaK});
  }
  operands.push_back({.name = "b",
                      .role = Role::input,
                      .count = problem.tensor ? std::size_t{kMmaChains} * kMmaK * kMmaN
                                              : std::size_t{kFmaThreads} * kFmaChains});
  operands.push_back({.name = "out", .role = Role::output, .count = outputs});
  return operands;
}

Work clock_problem_work(const ClockProblem& problem) {
  const auto chains = static_cast<std::uint64_t>(problem.blocks * chains_per_block(problem));
  const auto each = static_cast<std::uint64_t>(chain_length(problem));
  return problem.tensor ? mma_work(chains * each, kMmaM, kMmaN, kMmaK) : fma_work(chains, each);
}

void clock_reference(const ClockProblem& problem, std::span<const float* const> inputs,
                     float* out) {
  const auto length = static_cast<double>(chain_length(problem));
  const float* const b = inputs.back();
  for (std::int64_t block = 0; block < problem.blocks; ++block) {
    if (!problem.tensor) {
      for (int thread = 0; thread < kFmaThreads; ++thread) {
        for (int chain = 0; chain < kFmaChains; ++chain) {
          const double increment = fma_increment(b[thread * kFmaChains + chain]);
          *out++ = static_cast<float>(chain_start(thread + chain) + length * increment);
        }
      }
      continue;
    }
    for (int tile = 0; tile < kMmaWarps * kMmaChains; ++tile) {
      const int warp = tile / kMmaChains, chain = tile % kMmaChains;
      for (int element = 0; element < kMmaM * kMmaN; ++element) {
        const int row = element / kMmaN, column = element % kMmaN;
        double product = 0;
        for (int k = 0; k < kMmaK; ++k) {
          product += static_cast<double>(mma_element(inputs[0][row * kMmaK + k])) *
                     mma_element(b[(chain * kMmaK + k) * kMmaN + column]);
        }
        *out++ = static_cast<float>(chain_start(warp + chain) + length * product);
      }
    }
  }
}

}  // namespace gpubench
