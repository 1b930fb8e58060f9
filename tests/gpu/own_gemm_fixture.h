// SPDX-License-Identifier: Apache-2.0
// One product by our own kernels on random data between guard zones, and what it should be, in
// double.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "kernels/check/gemm_reference.h"
#include "kernels/gemm/gemm_sm90a.h"
#include "ops/gemm/problem.h"
#include "tests/ops_fixture.h"

namespace gpubench {

inline Dtype dtype_of(GemmType type) {
  switch (type) {
    case GemmType::bf16:
      return Dtype::bf16;
    case GemmType::fp16:
      return Dtype::fp16;
    case GemmType::tf32:
      return Dtype::tf32;
    case GemmType::fp8_e4m3:
      return Dtype::fp8_e4m3;
    case GemmType::fp8_e5m2:
      return Dtype::fp8_e5m2;
    case GemmType::int8:
      return Dtype::int8;
  }
  return Dtype::fp32;
}

constexpr GemmType kOwnTypes[] = {GemmType::bf16,     GemmType::fp16,     GemmType::tf32,
                                  GemmType::fp8_e4m3, GemmType::fp8_e5m2, GemmType::int8};
constexpr GemmEpilogue kOwnEpilogues[] = {GemmEpilogue::none, GemmEpilogue::bias,
                                          GemmEpilogue::bias_gelu, GemmEpilogue::bias_gelu_aux,
                                          GemmEpilogue::bias_residual};

inline std::string describe(const GemmArguments& a) {
  return std::string(to_string(dtype_of(a.type))) + (a.a_k_contiguous ? " t" : " n") +
         (a.b_k_contiguous ? "n " : "t ") + std::to_string(a.m) + "x" + std::to_string(a.n) + "x" +
         std::to_string(a.k) + " epilogue " + std::to_string(static_cast<int>(a.epilogue)) +
         (a.promote ? " promoted" : "");
}

/// A matrix on the device with guard zones around it, `offset` bytes off the alignment.
struct Guarded {
  static constexpr std::size_t kGuard = 4096;
  static constexpr int kPoison = 0xff;  // NaN in every floating type
  Guarded(TestBench& on, Dtype with, std::size_t elements, std::size_t offset = 0)
      : bench(on),
        dtype(with),
        count(elements),
        at(kGuard + offset),
        memory(*on.device, elements * storage_bytes(with) + 2 * kGuard + 16) {
    poison();
  }
  void* data() const { return memory.bytes() + at; }
  std::size_t bytes() const { return count * storage_bytes(dtype); }
  void poison() { bench.device->fill_bytes(*bench.stream, memory.data(), kPoison, memory.size()); }
  void fill(double scale, std::size_t stream) {
    const Operand operand{.name = "", .dtype = dtype, .count = count, .scale = scale};
    const Buffer aligned(*bench.device, bytes() + 256);
    fill_operand(*bench.device, *bench.stream, aligned.data(), operand, bench.conditions.data,
                 bench.conditions.seed, stream);
    bench.device->copy_on_device(*bench.stream, data(), aligned.data(), bytes());
    bench.stream->synchronize();
  }
  std::vector<std::uint8_t> raw() const {
    std::vector<std::uint8_t> all(memory.size());
    bench.device->copy_to_host(*bench.stream, all.data(), memory.data(), all.size());
    return all;
  }
  /// Values, INT32 in full.
  std::vector<double> values() const {
    const std::vector<std::uint8_t> all = raw();
    const auto word = [&](std::size_t i, auto bits) {
      std::memcpy(&bits, all.data() + at + i * sizeof bits, sizeof bits);
      return bits;
    };
    std::vector<double> out(count);
    if (storage_bytes(dtype) == 2) {
      std::vector<double> table(1 << 16);  // decode() is too slow for millions
      for (std::uint32_t i = 0; i < table.size(); ++i) table[i] = decode(dtype, i);
      for (std::size_t i = 0; i < count; ++i) out[i] = table[word(i, std::uint16_t{0})];
    } else if (dtype == Dtype::int32) {
      for (std::size_t i = 0; i < count; ++i) out[i] = word(i, std::int32_t{0});
    } else {
      for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<double>(word(i, 0.f));
    }
    return out;
  }
  /// Nothing was written outside.
  bool guards_hold() const {
    const std::vector<std::uint8_t> all = raw();
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(at);
    const auto poisoned = [](std::uint8_t byte) { return byte == kPoison; };
    return std::all_of(all.begin(), begin, poisoned) &&
           std::all_of(begin + static_cast<std::ptrdiff_t>(bytes()), all.end(), poisoned);
  }
  void set(std::size_t index, std::uint32_t bits) {
    bench.device->copy_to_device(*bench.stream, memory.bytes() + at + index * storage_bytes(dtype),
                                 &bits, storage_bytes(dtype));
    bench.stream->synchronize();
  }

  TestBench& bench;
  Dtype dtype;
  std::size_t count, at;
  Buffer memory;
};

/// Everything one product needs.
class OwnProduct {
 public:
  OwnProduct(TestBench& bench, const GemmArguments& given, std::size_t offset = 0)
      : bench_(bench),
        arguments(given),
        problem_(problem_of(given)),
        out_(output_dtype(problem_.dtype)),
        a(bench, a_dtype(problem_.dtype), size(given.m, given.k), offset),
        b(bench, b_dtype(problem_.dtype), size(given.k, given.n), offset),
        bias(bench, out_, size(1, given.n), offset),
        residual(bench, out_, size(given.m, given.n), offset),
        aux(bench, out_, size(given.m, given.n), offset),
        c(bench, out_, size(given.m, given.n), offset) {
    const double scale = operand_scale(problem_.dtype), root = std::sqrt(double(given.k));
    a.fill(scale, 0);
    b.fill(scale, 1);
    if (given.epilogue != GemmEpilogue::none) {  // INT32, which nothing fills, has none
      bias.fill(root, 2);
      residual.fill(root, 3);
    }
    arguments.scale =
        static_cast<float>(dequant_scale(problem_.dtype) * dequant_scale(problem_.dtype));
    arguments.a = a.data();
    arguments.b = b.data();
    arguments.bias = bias.data();
    arguments.residual = residual.data();
    arguments.aux = aux.data();
    arguments.c = c.data();
  }

  /// On poisoned outputs; several times in a row without waiting, each over the last one's.
  void run(const GemmConfig& config, int times = 1) {
    c.poison();
    aux.poison();
    const Buffer workspace(*bench_.device, config.workspace_bytes + 256);
    bench_.device->fill_bytes(*bench_.stream, workspace.data(), Guarded::kPoison, workspace.size());
    GemmArguments with = arguments;
    with.workspace = workspace.data();
    for (int i = 0; i < times; ++i) launch_gemm_sm90a(bench_.stream->native(), with, config);
    bench_.stream->synchronize();
  }

  /// x = scale * A B, with the bias if the epilogue has one, in double, rounded to FP32 (INT32:
  /// not).
  std::vector<double> sums() const {
    GemmReference reference;
    reference.m = arguments.m;
    reference.n = arguments.n;
    reference.k = arguments.k;
    reference.a_dtype = a.dtype;
    reference.b_dtype = b.dtype;
    reference.a = arguments.a_k_contiguous ? MatrixView{a.data(), arguments.k, 1, 0}
                                           : MatrixView{a.data(), 1, arguments.m, 0};
    reference.b = arguments.b_k_contiguous ? MatrixView{b.data(), 1, arguments.k, 0}
                                           : MatrixView{b.data(), arguments.n, 1, 0};
    if (arguments.epilogue != GemmEpilogue::none) {
      reference.bias = bias.data();
      reference.bias_dtype = out_;
    }
    reference.alpha = static_cast<double>(arguments.scale);
    std::vector<double> sums(c.count);
    const Buffer out(*bench_.device, sums.size() * sizeof(double));
    launch_gemm_reference(bench_.stream->native(), reference, static_cast<double*>(out.data()));
    bench_.device->copy_to_host(*bench_.stream, sums.data(), out.data(), out.size());
    return sums;
  }

  std::vector<double> finished(std::vector<double> sums) const {
    const bool gelu = arguments.epilogue == GemmEpilogue::bias_gelu ||
                      arguments.epilogue == GemmEpilogue::bias_gelu_aux;
    if (gelu) {
      for (double& x : sums) {
        x = 0.5 * x * (1 + std::tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
      }
    }
    if (arguments.epilogue == GemmEpilogue::bias_residual) {
      const std::vector<double> added = residual.values();
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += added[i];
    }
    return sums;
  }

  double tolerance() const { return gemm_tolerance(problem_); }

  /// Largest |out - wanted| / (|wanted| + rms); infinite where that is no number. The rms of a few
  /// values that nearly cancel says nothing of what was added: then it is that of a product's sum.
  double error(const std::vector<double>& out, const std::vector<double>& wanted) const {
    constexpr std::size_t kFew = 64;
    double squares = 0, most = 0;
    for (const double value : wanted) squares += value * value;
    double rms = std::sqrt(squares / static_cast<double>(wanted.size()));
    if (wanted.size() < kFew) rms = std::fmax(rms, std::sqrt(static_cast<double>(arguments.k)));
    for (std::size_t i = 0; i < out.size(); ++i) {
      const double off = std::fabs(out[i] - wanted[i]);
      const double relative = off == 0 ? 0 : off / (std::fabs(wanted[i]) + rms);
      if (!(relative <= 1e300)) return INFINITY;
      most = std::fmax(most, relative);
    }
    return most;
  }

 private:
  static std::size_t size(std::int64_t rows, std::int64_t columns) {
    return static_cast<std::size_t>(rows * columns);
  }
  static GemmProblem problem_of(const GemmArguments& given) {
    GemmProblem problem{.m = given.m, .n = given.n, .k = given.k, .dtype = dtype_of(given.type)};
    problem.fast_accum = !given.promote;
    return problem;
  }

  TestBench& bench_;

 public:
  GemmArguments arguments;

 private:
  GemmProblem problem_;
  Dtype out_;

 public:
  Guarded a, b, bias, residual, aux, c;
};

}  // namespace gpubench
