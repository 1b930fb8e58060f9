// SPDX-License-Identifier: Apache-2.0
#include "ops/all_reduce/problem.h"

#include <fmt/format.h>

#include <bit>

#include "gpubench/error.h"

namespace gpubench {
namespace {

/// Up to here every whole number is one of the type: 2^(mantissa bits + 1).
std::uint32_t exact_integers(ReduceType type) {
  switch (type) {
    case ReduceType::fp32:
      return 1u << 24;
    case ReduceType::bf16:
      return 1u << 8;
    case ReduceType::fp16:
      return 1u << 11;
    case ReduceType::fp8:
      return 1u << 4;
    case ReduceType::int32:
      return 0x7FFFFFFF;
  }
  throw Error("E_INTERNAL", "unknown element type");
}

}  // namespace

ReduceType parse_reduce_type(const std::string& name) {
  for (const ReduceType type :
       {ReduceType::fp32, ReduceType::bf16, ReduceType::fp16, ReduceType::fp8, ReduceType::int32}) {
    if (name == to_string(type)) return type;
  }
  throw ConfigError("unknown dtype '" + name + "'; there are: fp32, bf16, fp16, fp8, int32");
}

ReduceOp parse_reduce_op(const std::string& name) {
  if (name == "sum") return ReduceOp::sum;
  if (name == "max") return ReduceOp::max;
  if (name == "avg") return ReduceOp::avg;
  throw ConfigError("unknown op '" + name + "'; there are: sum, max, avg");
}

const char* to_string(ReduceType type) {
  switch (type) {
    case ReduceType::fp32:
      return "fp32";
    case ReduceType::bf16:
      return "bf16";
    case ReduceType::fp16:
      return "fp16";
    case ReduceType::fp8:
      return "fp8";
    case ReduceType::int32:
      return "int32";
  }
  return "?";
}

std::size_t reduce_type_bytes(ReduceType type) { return storage_bytes(reduce_dtype(type)); }

Dtype reduce_dtype(ReduceType type) {
  switch (type) {
    case ReduceType::bf16:
      return Dtype::bf16;
    case ReduceType::fp16:
      return Dtype::fp16;
    case ReduceType::fp8:
      return Dtype::fp8_e4m3;
    case ReduceType::fp32:
    case ReduceType::int32:
      break;
  }
  return Dtype::fp32;
}

std::uint64_t all_reduce_count(std::int64_t bytes, ReduceType type) {
  const auto element = static_cast<std::int64_t>(reduce_type_bytes(type));
  if (bytes > 0 && bytes % element == 0) return static_cast<std::uint64_t>(bytes / element);
  throw ConfigError(
      fmt::format("bytes={} is no multiple of the {} bytes of {}", bytes, element, to_string(type)),
      "E_SIZE");
}

std::vector<Operand> all_reduce_operands(const AllReduceProblem& problem) {
  const auto operand = [&](const char* name, Role role) {
    return Operand{.name = name,
                   .role = role,
                   .dtype = reduce_dtype(problem.type),
                   .count = static_cast<std::size_t>(problem.count)};
  };
  if (problem.in_place) return {operand("buffer", Role::output)};
  return {operand("in", Role::input), operand("out", Role::output)};
}

ReducePattern all_reduce_pattern(const AllReduceProblem& problem, int ranks, std::uint64_t seed) {
  const std::uint32_t range = exact_integers(problem.type) / static_cast<std::uint32_t>(ranks);
  // With one value only, a rank's data could be exchanged with another's unseen.
  if (range < 2) {
    throw Unsupported("E_UNSUPPORTED_WORLD",
                      fmt::format("an all-reduce of {} over {} ranks can't be verified exactly: "
                                  "whole numbers are exact up to {} only; take a wider type",
                                  to_string(problem.type), ranks, exact_integers(problem.type)));
  }
  // A library multiplies by 1 / n before it adds, which rounds unless n is a power of two.
  if (problem.op == ReduceOp::avg && problem.type != ReduceType::int32 &&
      !std::has_single_bit(static_cast<unsigned>(ranks))) {
    throw Unsupported("E_UNSUPPORTED_WORLD",
                      fmt::format("an average over {} ranks rounds and can't be verified exactly; "
                                  "take op=sum, or a number of ranks that is a power of two",
                                  ranks));
  }
  return {.type = problem.type, .op = problem.op, .ranks = ranks, .range = range, .seed = seed};
}

}  // namespace gpubench
