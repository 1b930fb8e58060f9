// SPDX-License-Identifier: Apache-2.0
// All-reduce: every rank of a world gives an array and has the sum, largest or average of all of
// them afterwards. Operands: (in, out), in place (buffer).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/all_reduce/pattern.h"
#include "ops/support/operands.h"

namespace gpubench {

struct AllReduceProblem {
  ReduceType type = ReduceType::bf16;
  ReduceOp op = ReduceOp::sum;
  std::uint64_t count = 0;  ///< elements of one rank
  bool in_place = false;
};

/// Throw ConfigError for a name that is none.
ReduceType parse_reduce_type(const std::string& name);
ReduceOp parse_reduce_op(const std::string& name);
const char* to_string(ReduceType type);

std::size_t reduce_type_bytes(ReduceType type);
/// What values are rounded to; fp32 stands for the four bytes of an int32, which nobody converts.
Dtype reduce_dtype(ReduceType type);

/// Elements of `bytes`, which must be a multiple of the type's: ConfigError E_SIZE otherwise.
std::uint64_t all_reduce_count(std::int64_t bytes, ReduceType type);

std::vector<Operand> all_reduce_operands(const AllReduceProblem& problem);

/// The pattern that verifies the problem exactly. Throws Unsupported where there is none: a type
/// too narrow for so many ranks, or an average that rounds.
ReducePattern all_reduce_pattern(const AllReduceProblem& problem, int ranks, std::uint64_t seed);

}  // namespace gpubench
