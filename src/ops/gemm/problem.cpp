// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/problem.h"

#include <cmath>
#include <string_view>

#include "gpubench/error.h"
#include "util/text.h"
#include "util/units.h"

namespace gpubench {
namespace {

struct EpilogueName {
  Epilogue epilogue;
  std::string_view text;
};

// A constant: workloads ask for the names before main().
constexpr EpilogueName kEpilogueNames[] = {{Epilogue::none, "none"},
                                           {Epilogue::bias, "bias"},
                                           {Epilogue::bias_gelu, "bias_gelu"},
                                           {Epilogue::bias_gelu_aux, "bias_gelu_aux"},
                                           {Epilogue::bias_residual, "bias_residual"}};

}  // namespace

bool is_fp8(Dtype dtype) { return dtype == Dtype::fp8_e4m3 || dtype == Dtype::fp8_e5m2; }

Dtype output_dtype(Dtype dtype) {
  if (is_fp8(dtype)) return Dtype::bf16;
  if (dtype == Dtype::int8) return Dtype::int32;
  return dtype == Dtype::tf32 ? Dtype::fp32 : dtype;
}

Dtype a_dtype(Dtype dtype) { return dtype; }

Dtype b_dtype(Dtype dtype) { return dtype == Dtype::fp8_e5m2 ? Dtype::fp8_e4m3 : dtype; }

std::string_view gemm_peak_key(const DeviceInfo& device, Dtype dtype) {
  // DMMA came with sm_80 and is in the data-centre parts alone, whose minor number is 0 or, for
  // sm_103, 3.
  const bool data_centre = device.cc_minor == 0 || device.cc_minor == 3;
  const bool dmma = device.kind == DeviceKind::cuda && device.cc_major >= 8 &&
                    device.cc_major <= 10 && data_centre;
  return dtype == Dtype::fp64 && dmma ? "fp64_tensor" : peak_key(dtype);
}

double operand_scale(Dtype dtype) {
  // The normal generator ends at 5.77 standard deviations: 369 of E4M3's 448. A power of two, so
  // that scaling rounds nothing. Bounds the sums, too: 64 * 64 * sqrt(k) is far from overflow.
  if (is_fp8(dtype)) return 64.0;
  return dtype == Dtype::int8 ? 22.0 : 1.0;  // 5.77 x 22 is 127
}

double dequant_scale(Dtype dtype) { return is_fp8(dtype) ? 1.0 / operand_scale(dtype) : 1.0; }

std::vector<Operand> gemm_operands(const GemmProblem& problem) {
  const auto count = [&](std::int64_t rows, std::int64_t columns) {
    return static_cast<std::size_t>(
        checked_mul({static_cast<std::uint64_t>(problem.batch), static_cast<std::uint64_t>(rows),
                     static_cast<std::uint64_t>(columns)}));
  };
  const double scale = operand_scale(problem.dtype);
  const Dtype out = output_dtype(problem.dtype);
  std::vector<Operand> operands;
  operands.push_back({.name = "A",
                      .role = Role::input,
                      .dtype = a_dtype(problem.dtype),
                      .count = count(problem.m, problem.k),
                      .scale = scale});
  operands.push_back({.name = "B",
                      .role = Role::input,
                      .dtype = b_dtype(problem.dtype),
                      .count = count(problem.k, problem.n),
                      .scale = scale});
  // What is added is as large as the product's values, so that it shows when left out or misplaced.
  const auto add_input = [&](const char* name, std::size_t elements) {
    operands.push_back({.name = name,
                        .role = Role::input,
                        .dtype = out,
                        .count = elements,
                        .scale = std::sqrt(static_cast<double>(problem.k))});
  };
  const auto add_output = [&](const char* name) {
    operands.push_back({.name = name,
                        .role = Role::output,
                        .dtype = out,
                        .count = count(problem.m, problem.n),
                        .tolerance = gemm_tolerance(problem)});
  };
  if (has_bias(problem.epilogue)) add_input("bias", static_cast<std::size_t>(problem.n));
  if (has_residual(problem.epilogue)) add_input("residual", count(problem.m, problem.n));
  add_output("C");
  if (has_aux(problem.epilogue)) add_output("aux");
  return operands;
}

GemmPointers gemm_pointers(Epilogue epilogue, std::span<void* const> operands) {
  std::size_t next = 0;
  GemmPointers pointers;
  pointers.a = operands[next++];
  pointers.b = operands[next++];
  if (has_bias(epilogue)) pointers.bias = operands[next++];
  if (has_residual(epilogue)) pointers.residual = operands[next++];
  pointers.c = operands[next++];
  if (has_aux(epilogue)) pointers.aux = operands[next++];
  return pointers;
}

double fp64_sum_tolerance(double k) {
  // As for FP32 below; on tensor cores, too, whose FP64 rounds each multiply-add.
  const double fp64 = unit_roundoff(Dtype::fp64);
  return 8 * fp64 * std::sqrt(k) + 8 * fp64;
}

double gemm_tolerance(const GemmProblem& problem) {
  const auto k = static_cast<double>(problem.k);
  const double fp32 = unit_roundoff(Dtype::fp32);
  // Inputs are exact in their type (but for TF32) and products exact in FP32, so what remains is
  // the accumulation and the rounding of the output, which is at most one unit round-off of its
  // type. cuBLASLt 13.1 keeps the sum in C's type before it stores an aux matrix or adds a residual
  // (seen at odd sizes in FP16 and BF16), which rounds A B where bias or residual cancel most of
  // it: of 1e8 elements the worst has a sum of 4.3 times what remains, and GELU's slope is up
  // to 1.13.
  const double roundings = has_aux(problem.epilogue) || has_residual(problem.epilogue) ? 6 : 1.25;
  const double output = roundings * unit_roundoff(output_dtype(problem.dtype));
  // Tensor cores truncate when they add a group of products to the sum: an error of one sign,
  // linear in k.
  const double truncated = fp32 * k;
  switch (problem.dtype) {
    case Dtype::fp64:
      return output + fp64_sum_tolerance(k);
    case Dtype::int8:
      return 0;
    case Dtype::fp32:
      // Rounded additions wander as sqrt(k); the largest of 1e8 elements is at six standard
      // deviations.
      return output + 8 * fp32 * std::sqrt(k) + 8 * fp32;
    case Dtype::tf32:
      // The tensor core cuts FP32 data to TF32: each product is off by up to four round-offs, two
      // on average, in one direction; the largest of 1e8 elements adds six standard deviations.
      return truncated + 8 * unit_roundoff(Dtype::tf32);
    case Dtype::fp8_e4m3:
    case Dtype::fp8_e5m2: {
      // Hopper's FP8 accumulator keeps about 14 bits (arXiv 2412.19437): each step of 32 products
      // may lose 2^-13 of the sum. Without fast accumulation the sum moves to FP32 every 128
      // products or sooner.
      constexpr double kShortRoundoff = 0x1p-13, kStep = 32;
      const double steps = problem.fast_accum ? std::fmax(k / kStep, 4) : 4;
      return output + truncated + kShortRoundoff * std::fmin(steps, 256);
    }
    default:
      return output + truncated;
  }
}

Support gemm_support(const GemmProblem& problem) {
  if (problem.dtype != Dtype::int8) return Support::yes();
  if (problem.epilogue != Epilogue::none) {
    return Support::no("E_UNSUPPORTED_DTYPE",
                       "INT8 products are written as INT32 and have no epilogue: epilogue=none");
  }
  if (problem.k > kMostInt8Products) {
    return Support::no("E_UNSUPPORTED_SHAPE",
                       "INT32 holds any sum of at most " + std::to_string(kMostInt8Products) +
                           " INT8 products; k is " + std::to_string(problem.k));
  }
  return Support::yes();
}

std::vector<std::string> epilogue_names() {
  std::vector<std::string> names;
  for (const EpilogueName& name : kEpilogueNames) names.emplace_back(name.text);
  return names;
}

Epilogue parse_epilogue(const std::string& text) {
  for (const EpilogueName& name : kEpilogueNames) {
    if (name.text == text) return name.epilogue;
  }
  throw ConfigError("unknown epilogue '" + text + "'" + suggestion(text, epilogue_names()));
}

}  // namespace gpubench
