// SPDX-License-Identifier: Apache-2.0
// GEMM on the cpu device. FP64 is computed in FP64; for every other type operands are FP32 values
// rounded to it and the product is FP32. INT8 products are exact all the same: see Int8Plan.
#include <algorithm>

#include "gpubench/error.h"
#include "libs/cblas.h"
#include "libs/libraries.h"
#include "ops/gemm/epilogue.h"
#include "ops/gemm/providers.h"
#include "ops/support/parallel.h"
#include "util/units.h"

namespace gpubench {
namespace {

constexpr std::size_t kGrainElements = 1 << 15;

std::size_t size(std::int64_t value) { return static_cast<std::size_t>(value); }

/// One row-major product by the math library, of `depth` of the k from `begin` on.
template <class Real>
void multiply(const CblasApi& cblas, const GemmProblem& problem, Real alpha, const Real* a,
              const Real* b, Real* c, std::size_t begin, std::size_t depth) {
  const std::size_t m = size(problem.m), n = size(problem.n), k = size(problem.k);
  const bool a_k = problem.a_k_contiguous, b_k = problem.b_k_contiguous;
  const auto trans_a = a_k ? CblasApi::kNoTrans : CblasApi::kTrans;
  const auto trans_b = b_k ? CblasApi::kTrans : CblasApi::kNoTrans;
  a += a_k ? begin : begin * m;
  b += b_k ? begin : begin * n;
  if constexpr (sizeof(Real) == sizeof(double)) {
    cblas.dgemm(trans_a, trans_b, m, n, depth, alpha, a, a_k ? k : m, b, b_k ? k : n, 0, c, n);
  } else {
    cblas.sgemm(trans_a, trans_b, m, n, depth, alpha, a, a_k ? k : m, b, b_k ? k : n, 0, c, n);
  }
}

/// Floating types: `Real` is what the operands are stored as.
template <class Real>
class FloatPlan : public Plan {
 public:
  FloatPlan(const CblasApi& cblas, const GemmProblem& problem) : cblas_(cblas), problem_(problem) {}

  std::size_t workspace_bytes() const override { return 0; }
  std::string algorithm() const override {
    return cblas_.name() + (sizeof(Real) == sizeof(double) ? " dgemm" : " sgemm");
  }

  void run(Stream&, std::span<void* const> operands, void*) override {
    const std::size_t m = size(problem_.m), n = size(problem_.n), k = size(problem_.k);
    const double dequant = dequant_scale(problem_.dtype);
    const GemmPointers pointers = gemm_pointers(problem_.epilogue, operands);
    const auto* a = static_cast<const Real*>(pointers.a);
    const auto* b = static_cast<const Real*>(pointers.b);
    auto* c = static_cast<Real*>(pointers.c);
    for (std::size_t i = 0; i < size(problem_.batch); ++i) {
      multiply(cblas_, problem_, static_cast<Real>(dequant * dequant), a + i * m * k, b + i * k * n,
               c + i * m * n, 0, k);
      finish(pointers, i * m * n);
    }
  }

 private:
  /// The epilogue and the rounding to the output's type, over the whole of one matrix of the batch,
  /// whose elements begin at `first`.
  void finish(const GemmPointers& pointers, std::size_t first) const {
    const Dtype out = output_dtype(problem_.dtype);
    const bool rounds = out != Dtype::fp32 && out != Dtype::fp64;
    const auto* bias = static_cast<const Real*>(pointers.bias);
    const auto* residual = static_cast<const Real*>(pointers.residual);
    auto* c = static_cast<Real*>(pointers.c);
    auto* aux = static_cast<Real*>(pointers.aux);
    if (bias == nullptr && !rounds) return;
    const auto rounded = [&](Real value) {
      return rounds ? static_cast<Real>(round_to(out, static_cast<float>(value))) : value;
    };
    const std::size_t n = size(problem_.n);
    const bool gelu = has_gelu(problem_.epilogue);
    parallel_for(size(problem_.m), kGrainElements / n + 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin * n; i < end * n; ++i) {
        Real value = c[first + i];
        if (bias != nullptr) value += bias[i % n];
        if (residual != nullptr) value += residual[first + i];
        if (aux != nullptr) aux[first + i] = rounded(value);
        c[first + i] = rounded(gelu ? gelu_tanh(value) : value);
      }
    });
  }

  const CblasApi& cblas_;
  GemmProblem problem_;
};

/// INT8 through FP32, exactly: a product of two INT8 numbers is at most 2^14, so every partial sum
/// of 2^10 of them, in any order, is an integer of at most 2^24, which FP32 holds. Slices of that
/// depth are added in INT32.
class Int8Plan : public Plan {
 public:
  Int8Plan(const CblasApi& cblas, const GemmProblem& problem) : cblas_(cblas), problem_(problem) {}

  std::size_t workspace_bytes() const override { return cpu_gemm_workspace_bytes(problem_); }
  std::string algorithm() const override {
    return cblas_.name() + " sgemm in slices that FP32 sums exactly";
  }

  void run(Stream&, std::span<void* const> operands, void* workspace) override {
    constexpr std::size_t kSlice = 1 << 10;
    const std::size_t m = size(problem_.m), n = size(problem_.n), k = size(problem_.k);
    const auto* a = static_cast<const float*>(operands[0]);
    const auto* b = static_cast<const float*>(operands[1]);
    auto* c = static_cast<std::int32_t*>(operands.back());
    auto* slice = static_cast<float*>(workspace);
    for (std::int64_t i = 0; i < problem_.batch; ++i, a += m * k, b += k * n, c += m * n) {
      for (std::size_t begin = 0; begin < k; begin += kSlice) {
        multiply(cblas_, problem_, 1.f, a, b, slice, begin, std::min(kSlice, k - begin));
        parallel_for(m * n, kGrainElements, [&](std::size_t first, std::size_t last) {
          for (std::size_t at = first; at < last; ++at) {
            c[at] = (begin == 0 ? 0 : c[at]) + static_cast<std::int32_t>(slice[at]);
          }
        });
      }
    }
  }

 private:
  const CblasApi& cblas_;
  GemmProblem problem_;
};

}  // namespace

Support cpu_gemm_supports(const DeviceInfo& device, const GemmProblem& problem) {
  if (device.kind != DeviceKind::cpu) {
    return Support::no("E_UNSUPPORTED_ARCH", "computes on the cpu device only (--device cpu)");
  }
  return gemm_support(problem);
}

std::uint64_t cpu_gemm_workspace_bytes(const GemmProblem& problem) {
  if (problem.dtype != Dtype::int8) return 0;
  return checked_mul({static_cast<std::uint64_t>(problem.m), static_cast<std::uint64_t>(problem.n),
                      sizeof(float)});
}

std::unique_ptr<Plan> cpu_gemm_plan(Context& context, const GemmProblem& problem) {
  const CblasApi& cblas = context.libraries.cblas();
  if (problem.dtype == Dtype::int8) return std::make_unique<Int8Plan>(cblas, problem);
  if (problem.dtype == Dtype::fp64) return std::make_unique<FloatPlan<double>>(cblas, problem);
  return std::make_unique<FloatPlan<float>>(cblas, problem);
}

}  // namespace gpubench
