// SPDX-License-Identifier: Apache-2.0
// GEMM through cuBLASLt. It thinks column-major, so it computes C^T[n][m] = B^T A^T: its first
// matrix is our B, its second our A, and its result with leading dimension n is our row-major C.
// Layout "tn" is then its TN.
#include "libs/nvidia/cublaslt.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "gpubench/error.h"
#include "libs/libraries.h"
#include "ops/gemm/cuda/cublaslt_algorithm.h"
#include "ops/gemm/providers.h"
#include "ops/support/tune.h"

namespace gpubench {
namespace {

constexpr int kCandidates = 16;
// The fastest in turn against the heuristic's first, over a period of the power limit's control: on
// an H200 small tiles draw more power and can be 11 % faster in turn than what is faster alone.
constexpr Finals kFinals{.most = 1, .seconds = 0.95};
constexpr std::int64_t kFp8Multiple = 16, kInt8Multiple = 4, kAuxMultiple = 8;

cudaDataType_t cuda_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::fp64:
      return CUDA_R_64F;
    case Dtype::fp32:
    case Dtype::tf32:
      return CUDA_R_32F;
    case Dtype::fp16:
      return CUDA_R_16F;
    case Dtype::bf16:
      return CUDA_R_16BF;
    case Dtype::fp8_e4m3:
      return CUDA_R_8F_E4M3;
    case Dtype::fp8_e5m2:
      return CUDA_R_8F_E5M2;
    case Dtype::int8:
      return CUDA_R_8I;
    case Dtype::int32:
      return CUDA_R_32I;
  }
  throw Error("E_INTERNAL", "unknown element type");
}

/// FP32 stays FP32: without a tensor-core compute type cuBLASLt never drops to TF32.
cublasComputeType_t compute_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::fp64:
      return CUBLAS_COMPUTE_64F;
    case Dtype::tf32:
      return CUBLAS_COMPUTE_32F_FAST_TF32;
    case Dtype::int8:
      return CUBLAS_COMPUTE_32I;
    default:
      return CUBLAS_COMPUTE_32F;
  }
}

/// Of alpha and beta.
cudaDataType_t scale_type(Dtype dtype) {
  if (dtype == Dtype::fp64) return CUDA_R_64F;
  return dtype == Dtype::int8 ? CUDA_R_32I : CUDA_R_32F;
}

/// alpha or beta in the scale type, to be pointed to.
struct Scalar {
  Scalar(Dtype dtype, int value) {
    if (dtype == Dtype::fp64) {
      as.fp64 = value;
    } else if (dtype == Dtype::int8) {
      as.int32 = value;
    } else {
      as.fp32 = static_cast<float>(value);
    }
  }
  union {
    double fp64;
    float fp32;
    std::int32_t int32;
  } as;
};

cublasLtEpilogue_t epilogue_of(Epilogue epilogue) {
  switch (epilogue) {
    case Epilogue::bias:
    case Epilogue::bias_residual:  // the residual is C of its alpha A B + beta C
      return CUBLASLT_EPILOGUE_BIAS;
    case Epilogue::bias_gelu:
      return CUBLASLT_EPILOGUE_GELU_BIAS;
    case Epilogue::bias_gelu_aux:
      return CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
    case Epilogue::none:
      break;
  }
  return CUBLASLT_EPILOGUE_DEFAULT;
}

/// Matrices whose contiguous dimension has `contiguous` elements: that is cuBLASLt's row count.
/// Those of a batch follow one another.
MatrixLayout layout_of(const CublasLtApi& lt, Dtype dtype, std::int64_t contiguous,
                       std::int64_t other, std::int64_t batch) {
  MatrixLayout layout(lt, cuda_type(dtype), static_cast<std::uint64_t>(contiguous),
                      static_cast<std::uint64_t>(other), contiguous);
  if (batch > 1) {
    layout.set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(batch));
    layout.set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, contiguous * other);
  }
  return layout;
}

class CublasLtPlan : public Plan {
 public:
  CublasLtPlan(Context& context, const GemmProblem& problem);

  std::size_t workspace_bytes() const override { return chosen().workspaceSize; }
  std::string algorithm() const override {
    const std::string text = describe_algorithm(lt_, chosen().algo);
    return tuned_ ? fmt::format("{}, tuned of {}", text, candidates_.size()) : text;
  }
  void run(Stream& stream, std::span<void* const> operands, void* workspace) override {
    launch(stream, operands, workspace, chosen());
  }

 private:
  void describe(Context& context);
  void ask_heuristic(int wanted);
  void tune(Context& context);
  void launch(Stream& stream, std::span<void* const> operands, void* workspace,
              const cublasLtMatmulHeuristicResult_t& candidate);
  const cublasLtMatmulHeuristicResult_t& chosen() const { return candidates_[chosen_]; }

  const CublasLtApi& lt_;
  GemmProblem problem_;
  CublasLtHandle handle_;
  MatmulDesc desc_;
  MatrixLayout first_, second_, result_;
  Buffer scale_;  // FP8: the dequantisation scale; also an aligned stand-in for bias and aux
  std::vector<cublasLtMatmulHeuristicResult_t> candidates_;
  std::size_t chosen_ = 0;
  bool tuned_ = false;
};

CublasLtPlan::CublasLtPlan(Context& context, const GemmProblem& problem)
    : lt_(context.libraries.cublaslt()),
      problem_(problem),
      handle_(lt_),
      desc_(lt_, compute_type(problem.dtype), scale_type(problem.dtype)),
      first_(problem.b_k_contiguous
                 ? layout_of(lt_, b_dtype(problem.dtype), problem.k, problem.n, problem.batch)
                 : layout_of(lt_, b_dtype(problem.dtype), problem.n, problem.k, problem.batch)),
      second_(problem.a_k_contiguous
                  ? layout_of(lt_, a_dtype(problem.dtype), problem.k, problem.m, problem.batch)
                  : layout_of(lt_, a_dtype(problem.dtype), problem.m, problem.k, problem.batch)),
      result_(layout_of(lt_, output_dtype(problem.dtype), problem.n, problem.m, problem.batch)),
      scale_(context.device, sizeof(float)) {
  describe(context);
  ask_heuristic(problem.tune ? kCandidates : 1);
  if (problem.tune) tune(context);
}

void CublasLtPlan::describe(Context& context) {
  desc_.set(CUBLASLT_MATMUL_DESC_TRANSA, problem_.b_k_contiguous ? CUBLAS_OP_T : CUBLAS_OP_N);
  desc_.set(CUBLASLT_MATMUL_DESC_TRANSB, problem_.a_k_contiguous ? CUBLAS_OP_N : CUBLAS_OP_T);
  desc_.set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(problem_.epilogue));
  const void* aligned = scale_.data();
  // The heuristic reads the pointers' alignment; run() sets the real ones.
  if (has_bias(problem_.epilogue)) {
    desc_.set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, cuda_type(output_dtype(problem_.dtype)));
    desc_.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, aligned);
  }
  if (has_aux(problem_.epilogue)) {
    desc_.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, cuda_type(output_dtype(problem_.dtype)));
    desc_.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, problem_.n);
    if (problem_.batch > 1) {
      desc_.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, problem_.m * problem_.n);
    }
    desc_.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, aligned);
  }
  if (is_fp8(problem_.dtype)) {
    const auto scale = static_cast<float>(dequant_scale(problem_.dtype));
    context.device.copy_to_device(context.stream, scale_.data(), &scale, sizeof scale);
    context.stream.synchronize();
    desc_.set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, aligned);
    desc_.set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, aligned);
    desc_.set(CUBLASLT_MATMUL_DESC_FAST_ACCUM,
              static_cast<std::int8_t>(problem_.fast_accum ? 1 : 0));
  }
}

void CublasLtPlan::ask_heuristic(int wanted) {
  MatmulPreference preference(lt_);
  preference.set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kMostGemmWorkspace);
  // Parts of a split-K are added in the compute type only: adding them in the output's type would
  // not be the accumulation that the report claims.
  preference.set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                 static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  candidates_.resize(static_cast<std::size_t>(wanted));
  int found = 0;
  const cublasStatus_t status = lt_.matmul_algo_get_heuristic(
      handle_.get(), desc_.get(), first_.get(), second_.get(), result_.get(), result_.get(),
      preference.get(), wanted, candidates_.data(), &found);
  candidates_.resize(static_cast<std::size_t>(std::max(found, 0)));
  std::erase_if(candidates_, [](const cublasLtMatmulHeuristicResult_t& candidate) {
    return candidate.state != CUBLAS_STATUS_SUCCESS;
  });
  if (status == CUBLAS_STATUS_SUCCESS && !candidates_.empty()) return;
  if (status != CUBLAS_STATUS_SUCCESS && status != CUBLAS_STATUS_NOT_SUPPORTED) lt_.check(status);
  throw Unsupported(
      "E_UNSUPPORTED_SHAPE",
      fmt::format("cuBLASLt {} has no algorithm for {} {}x{}x{} (m, n, k), batch {}, in "
                  "this layout and epilogue ({}); try another shape or layout=tn",
                  lt_.version(), to_string(problem_.dtype), problem_.m, problem_.n, problem_.k,
                  problem_.batch, lt_.get_status_name(status)));
}

void CublasLtPlan::tune(Context& context) {
  tuned_ = true;
  if (candidates_.size() < 2) return;
  const OperandSets sets(context, gemm_operands(problem_));
  std::size_t workspace_bytes = 1;
  for (const auto& candidate : candidates_) {
    workspace_bytes = std::max(workspace_bytes, candidate.workspaceSize);
  }
  const Buffer workspace(context.device, workspace_bytes);
  std::vector<Candidate> timed;
  for (const auto& candidate : candidates_) {
    timed.emplace_back([&](Stream& stream, std::size_t iteration) {
      launch(stream, sets.set(iteration % sets.sets()), workspace.data(), candidate);
    });
  }
  chosen_ = fastest(context, timed, kFinals);
}

void CublasLtPlan::launch(Stream& stream, std::span<void* const> operands, void* workspace,
                          const cublasLtMatmulHeuristicResult_t& candidate) {
  const GemmPointers at = gemm_pointers(problem_.epilogue, operands);
  const bool adds = at.residual != nullptr;
  const Scalar alpha(problem_.dtype, 1), beta(problem_.dtype, adds ? 1 : 0);
  if (at.bias != nullptr) desc_.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, at.bias);
  if (at.aux != nullptr) desc_.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, at.aux);
  lt_.check(lt_.matmul(handle_.get(), desc_.get(), &alpha.as, at.b, first_.get(), at.a,
                       second_.get(), &beta.as, adds ? at.residual : at.c, result_.get(), at.c,
                       result_.get(), &candidate.algo, workspace, candidate.workspaceSize,
                       static_cast<cudaStream_t>(stream.native())));
}

Support fp8_support(const DeviceInfo& device, const GemmProblem& problem) {
  if (device.cc_major * 10 + device.cc_minor < 89) {
    return Support::no(
        "E_UNSUPPORTED_ARCH",
        fmt::format("FP8 tensor cores need sm_89 or newer; this is {}", device.arch()));
  }
  if (device.cc_major < 10 && !(problem.a_k_contiguous && problem.b_k_contiguous)) {
    return Support::no(
        "E_UNSUPPORTED_SHAPE",
        fmt::format("FP8 on {} needs layout=tn (k contiguous in both operands)", device.arch()));
  }
  if (problem.m % kFp8Multiple != 0 || problem.n % kFp8Multiple != 0 ||
      problem.k % kFp8Multiple != 0) {
    return Support::no(
        "E_UNSUPPORTED_SHAPE",
        fmt::format("FP8 needs m, n and k to be multiples of {} (16-byte alignment); "
                    "got {}, {}, {}",
                    kFp8Multiple, problem.m, problem.n, problem.k));
  }
  return Support::yes();
}

/// What cuBLASLt's documentation asks of INT8 on tensor cores in ordinary (not interleaved)
/// layouts. Its first matrix is our B, so that its m is our n; our m is free.
Support int8_support(const GemmProblem& problem) {
  if (!(problem.a_k_contiguous && problem.b_k_contiguous)) {
    return Support::no("E_UNSUPPORTED_SHAPE",
                       "INT8 on tensor cores needs layout=tn (k contiguous in both operands)");
  }
  if (problem.n % kInt8Multiple != 0 || problem.k % kInt8Multiple != 0) {
    return Support::no("E_UNSUPPORTED_SHAPE",
                       fmt::format("INT8 needs n and k to be multiples of {} (leading dimensions "
                                   "of whole 32-bit words); got {}, {}",
                                   kInt8Multiple, problem.n, problem.k));
  }
  return Support::yes();
}

}  // namespace

Support cublaslt_gemm_supports(const DeviceInfo& device, const GemmProblem& problem) {
  if (device.kind != DeviceKind::cuda) {
    return Support::no("E_UNSUPPORTED_ARCH", "needs a CUDA device");
  }
  if (problem.batch > std::numeric_limits<std::int32_t>::max()) {
    return Support::no("E_UNSUPPORTED_SHAPE", "cuBLASLt takes at most 2147483647 matrices a batch");
  }
  if (const Support support = gemm_support(problem); !support.ok) return support;
  if (problem.dtype == Dtype::int8) return int8_support(problem);
  // 13.1 on an H200: errors of 1.5e-11, a thousand times FP64's rounding over such sums.
  if (problem.dtype == Dtype::fp64 && has_gelu(problem.epilogue)) {
    return Support::no("E_UNSUPPORTED_DTYPE",
                       "cuBLASLt's fused GELU has not FP64's precision; epilogue=bias has");
  }
  // Of the aux matrix's leading dimension, says the documentation.
  if (has_aux(problem.epilogue) && problem.n % kAuxMultiple != 0) {
    return Support::no("E_UNSUPPORTED_SHAPE",
                       fmt::format("cuBLASLt stores aux where n is a multiple of {}; got {}",
                                   kAuxMultiple, problem.n));
  }
  return is_fp8(problem.dtype) ? fp8_support(device, problem) : Support::yes();
}

std::unique_ptr<Plan> cublaslt_gemm_plan(Context& context, const GemmProblem& problem) {
  return std::make_unique<CublasLtPlan>(context, problem);
}

}  // namespace gpubench
