// SPDX-License-Identifier: Apache-2.0
// Includes cudnn_frontend.h, a header of a minute's compile time: nothing else belongs here.
#include "ops/attention/cudnn/sdpa.h"

// The header's graph serialisation is not used, and would bring a second copy of a JSON library.
#define CUDNN_FRONTEND_SKIP_JSON_LIB
#include <cudnn_frontend.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "libs/libraries.h"
#include "libs/nvidia/cudnn_api.h"

namespace gpubench {
namespace {

namespace fe = cudnn_frontend;
using TensorPtr = std::shared_ptr<fe::graph::Tensor_attributes>;

constexpr int kMinComputeCapability = 8;

/// What FP8 takes beside the operands: one FP32 number each, in a buffer of the plan. Their ids
/// follow those of the operands.
enum Fp8Scalar : std::size_t {
  kDescaleQ,
  kDescaleK,
  kDescaleV,
  kDescaleS,
  kScaleS,
  kScaleO,
  kAmaxS,
  kAmaxO,
  kFp8Scalars
};
constexpr std::size_t kScalarPitch = 256;  // bytes
constexpr std::size_t kFirstScalar = attention_forward::kCount;

/// Of the softmax's values, which are at most 1, before they are rounded to E4M3: the largest power
/// of two with a product within 448, as cuDNN's documentation advises.
constexpr float kSoftmaxScale = 256;

std::array<float, kFp8Scalars> fp8_scalars() {
  const auto operand = static_cast<float>(attention_operand_scale(Dtype::fp8_e4m3));
  std::array<float, kFp8Scalars> values{};
  values[kDescaleQ] = values[kDescaleK] = values[kDescaleV] = 1 / operand;
  values[kDescaleS] = 1 / kSoftmaxScale;
  values[kScaleS] = kSoftmaxScale;
  values[kScaleO] = operand;  // an average of V's rows is no larger than they are
  return values;
}

/// The operand at `index` of attention_operands(). cudnn-frontend takes pointers in ascending order
/// of ids, so with these ids they are taken in operand order.
std::int64_t id_of(std::size_t index) { return static_cast<std::int64_t>(index) + 1; }

void require(fe::error_t status, const char* step) {
  if (status.is_good()) return;
  throw LibraryError("E_CUDNN",
                     std::string("cuDNN attention, ") + step + ": " + status.get_message() +
                         " (CUDNN_LOGLEVEL_DBG=2 CUDNN_LOGDEST_DBG=stderr makes cuDNN say more)");
}

/// For the steps that fail where cuDNN has no kernel for a problem.
void require_support(fe::error_t status, const CudnnApi& cudnn) {
  if (status.is_good()) return;
  throw Unsupported(
      "E_UNSUPPORTED_SHAPE",
      "cuDNN " + cudnn.version() + " has no attention kernel for this: " + status.get_message());
}

fe::DataType_t data_type(Dtype dtype) {
  if (dtype == Dtype::fp8_e4m3) return fe::DataType_t::FP8_E4M3;
  return dtype == Dtype::fp16 ? fe::DataType_t::HALF : fe::DataType_t::BFLOAT16;
}

/// Builds the graph of one problem: logical dimensions [batch][heads][positions][head_dim], in
/// memory [batch][positions][heads][head_dim].
class GraphBuilder {
 public:
  GraphBuilder(fe::graph::Graph& graph, const AttentionProblem& problem)
      : graph_(graph), problem_(problem) {
    graph_.set_io_data_type(data_type(problem.dtype))
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
  }

  void forward() {
    namespace at = attention_forward;
    const auto [o, stats] =
        graph_.sdpa(queries(at::kQ, "q"), keys(at::kK, "k"), keys(at::kV, "v"), forward_options());
    output(o, at::kO, query_side());
    log_sum_exp(stats);
  }

  void forward_fp8() {
    namespace at = attention_forward;
    const auto [o, stats, amax_s, amax_o] =
        graph_.sdpa_fp8(queries(at::kQ, "q"), keys(at::kK, "k"), keys(at::kV, "v"),
                        scalar(kDescaleQ, "descale_q"), scalar(kDescaleK, "descale_k"),
                        scalar(kDescaleV, "descale_v"), scalar(kDescaleS, "descale_s"),
                        scalar(kScaleS, "scale_s"), scalar(kScaleO, "scale_o"), forward_options());
    output(o, at::kO, query_side());
    log_sum_exp(stats);
    describe_scalar(*amax_s, kAmaxS).set_output(true);
    describe_scalar(*amax_o, kAmaxO).set_output(true);
  }

  void backward() {
    namespace at = attention_backward;
    auto options = fe::graph::SDPA_backward_attributes()
                       .set_name("attention_backward")
                       .set_attn_scale(scale());
    mask(options);
    const TensorPtr stats = graph_.tensor(fe::graph::Tensor_attributes()
                                              .set_name("lse")
                                              .set_uid(id_of(at::kLse))
                                              .set_data_type(fe::DataType_t::FLOAT)
                                              .set_dim(stats_dims())
                                              .set_stride(stats_strides()));
    const auto [dq, dk, dv] =
        graph_.sdpa_backward(queries(at::kQ, "q"), keys(at::kK, "k"), keys(at::kV, "v"),
                             queries(at::kO, "o"), queries(at::kDO, "do"), stats, options);
    output(dq, at::kDQ, query_side());
    output(dk, at::kDK, key_side());
    output(dv, at::kDV, key_side());
  }

 private:
  struct Layout {
    std::vector<std::int64_t> dims, strides;
  };

  Layout layout(std::int64_t heads, std::int64_t positions) const {
    const std::int64_t position = heads * problem_.head_dim;
    return {{problem_.batch, heads, positions, problem_.head_dim},
            {positions * position, problem_.head_dim, position, 1}};
  }
  Layout query_side() const { return layout(problem_.heads, problem_.seq); }
  Layout key_side() const { return layout(problem_.key_heads(), problem_.keys()); }

  float scale() const { return 1 / std::sqrt(static_cast<float>(problem_.head_dim)); }

  fe::graph::SDPA_attributes forward_options() const {
    auto options = fe::graph::SDPA_attributes()
                       .set_name("attention")
                       .set_generate_stats(true)
                       .set_attn_scale(scale());
    mask(options);
    return options;
  }

  /// cuDNN keeps keys above query + diagonal - left bound: as many as the window says.
  template <class Options>
  void mask(Options& options) const {
    if (!problem_.causal) return;
    options
        .set_diagonal_alignment(problem_.diagonal() == 0 ? fe::DiagonalAlignment_t::TOP_LEFT
                                                         : fe::DiagonalAlignment_t::BOTTOM_RIGHT)
        .set_diagonal_band_right_bound(0);
    if (problem_.window == 0) return;
    options.set_diagonal_band_left_bound(
        static_cast<int>(std::min(problem_.window, problem_.keys())));
  }

  std::vector<std::int64_t> stats_dims() const {
    return {problem_.batch, problem_.heads, problem_.seq, 1};
  }
  std::vector<std::int64_t> stats_strides() const {
    return {problem_.heads * problem_.seq, problem_.seq, 1, 1};
  }

  TensorPtr input(std::size_t index, const char* name, const Layout& layout) {
    return graph_.tensor(fe::graph::Tensor_attributes()
                             .set_name(name)
                             .set_uid(id_of(index))
                             .set_dim(layout.dims)
                             .set_stride(layout.strides));
  }
  TensorPtr queries(std::size_t index, const char* name) {
    return input(index, name, query_side());
  }
  TensorPtr keys(std::size_t index, const char* name) { return input(index, name, key_side()); }

  static void output(const TensorPtr& tensor, std::size_t index, const Layout& layout) {
    tensor->set_output(true).set_uid(id_of(index)).set_dim(layout.dims).set_stride(layout.strides);
  }

  void log_sum_exp(const TensorPtr& stats) const {
    stats->set_output(true)
        .set_uid(id_of(attention_forward::kLse))
        .set_data_type(fe::DataType_t::FLOAT)
        .set_dim(stats_dims())
        .set_stride(stats_strides());
  }

  static fe::graph::Tensor_attributes& describe_scalar(fe::graph::Tensor_attributes& tensor,
                                                       Fp8Scalar which) {
    return tensor.set_uid(id_of(kFirstScalar + which))
        .set_data_type(fe::DataType_t::FLOAT)
        .set_dim({1, 1, 1, 1})
        .set_stride({1, 1, 1, 1});
  }
  TensorPtr scalar(Fp8Scalar which, const char* name) {
    fe::graph::Tensor_attributes tensor;
    return graph_.tensor(describe_scalar(tensor, which).set_name(name));
  }

  fe::graph::Graph& graph_;
  const AttentionProblem& problem_;
};

class CudnnAttention : public Plan {
 public:
  CudnnAttention(Context& context, CudnnApi& cudnn, const AttentionProblem& problem)
      : cudnn_(cudnn) {
    GraphBuilder builder(graph_, problem);
    if (problem.backward) {
      builder.backward();
    } else if (problem.dtype == Dtype::fp8_e4m3) {
      builder.forward_fp8();
      upload_scalars(context);
    } else {
      builder.forward();
    }
    cudnnHandle_t handle = cudnn_.handle(context.stream.native());
    require_support(graph_.validate(), cudnn_);
    require_support(graph_.build_operation_graph(handle), cudnn_);
    require_support(graph_.create_execution_plans({fe::HeurMode_t::A}), cudnn_);
    require_support(graph_.check_support(), cudnn_);
    // The first plan that builds, in the heuristic's order: what PyTorch takes too.
    require(graph_.build_plans(fe::BuildPlanPolicy_t::HEURISTICS_CHOICE), "building a plan");
    std::int64_t bytes = 0;
    require(graph_.get_workspace_size(bytes), "asking for the workspace");
    workspace_bytes_ = static_cast<std::size_t>(bytes);
    require(graph_.get_plan_name(name_), "asking for the plan's name");
  }

  std::size_t workspace_bytes() const override { return workspace_bytes_; }
  std::string algorithm() const override { return name_; }

  void run(Stream& stream, std::span<void* const> operands, void* workspace) override {
    std::array<void*, kMostPointers> pointers{};
    std::size_t count = operands.size();
    std::copy(operands.begin(), operands.end(), pointers.begin());
    if (scalars_.data() != nullptr) {
      for (std::size_t i = 0; i < kFp8Scalars; ++i) {
        pointers[count++] = scalars_.bytes() + i * kScalarPitch;
      }
    }
    require(graph_.execute(cudnn_.handle(stream.native()), pointers.data(), static_cast<int>(count),
                           workspace),
            "running");
  }

 private:
  static constexpr std::size_t kMostPointers =
      std::max<std::size_t>(attention_backward::kCount, kFirstScalar + kFp8Scalars);

  void upload_scalars(Context& context) {
    scalars_ = Buffer(context.device, kFp8Scalars * kScalarPitch);
    const std::array<float, kFp8Scalars> values = fp8_scalars();
    for (std::size_t i = 0; i < kFp8Scalars; ++i) {
      context.device.copy_to_device(context.stream, scalars_.bytes() + i * kScalarPitch, &values[i],
                                    sizeof values[i]);
    }
    context.stream.synchronize();
  }

  CudnnApi& cudnn_;
  fe::graph::Graph graph_;
  Buffer scalars_;  // FP8. Both maxima are written and not looked at: O is checked, whole
  std::size_t workspace_bytes_ = 0;
  std::string name_;
};

/// Largest head_dim by the support matrix of cuDNN's documentation (docs/operations/Attention.md of
/// cudnn-frontend, for 9.18); the library has the last word when the plan is made.
std::int64_t most_head_dim(const DeviceInfo& device, const AttentionProblem& problem) {
  constexpr std::int64_t kSmall = 128, kLarge = 256;
  if (device.cc_major == 9) return kLarge;
  if (problem.dtype == Dtype::fp8_e4m3) return kSmall;
  // Blackwell's backward pass takes 256 itself, though nothing between: require_version.
  if (device.cc_major == 10 && problem.head_dim == kLarge) return kLarge;
  return problem.backward ? kSmall : kLarge;
}

Support supports_fp8(const DeviceInfo& device, const AttentionProblem& problem) {
  if (device.cc_major != 9 && device.cc_major != 10) {
    return Support::no("E_UNSUPPORTED_ARCH", "fp8 needs sm_90 or sm_100; this is " + device.arch());
  }
  if (problem.window > 0) {
    return Support::no("E_UNSUPPORTED_SHAPE", "fp8 takes full and causal masks, no window");
  }
  if (problem.causal && problem.diagonal() != 0 && device.cc_major < 10) {
    return Support::no("E_UNSUPPORTED_SHAPE",
                       "fp8 with causal_align=bottom_right needs sm_100; this is " + device.arch());
  }
  return Support::yes();
}

Support supports(const DeviceInfo& device, const AttentionProblem& problem) {
  if (device.kind != DeviceKind::cuda) {
    return Support::no("E_UNSUPPORTED_DEVICE", "needs an NVIDIA GPU");
  }
  if (device.cc_major < kMinComputeCapability) {
    return Support::no("E_UNSUPPORTED_ARCH", "needs sm_80 or newer; this is " + device.arch());
  }
  const bool fp8 = problem.dtype == Dtype::fp8_e4m3;
  if (!fp8 && problem.dtype != Dtype::fp16 && problem.dtype != Dtype::bf16) {
    return Support::no("E_UNSUPPORTED_DTYPE", "takes fp16, bf16 and fp8");
  }
  if (const Support pass = attention_pass_support(problem); !pass.ok) return pass;
  if (fp8) {
    if (const Support able = supports_fp8(device, problem); !able.ok) return able;
  }
  const std::int64_t multiple = fp8 ? 16 : 8;  // 16-byte rows
  const std::int64_t most = most_head_dim(device, problem);
  if (problem.head_dim > most || problem.head_dim % multiple != 0) {
    return Support::no("E_UNSUPPORTED_SHAPE",
                       "takes a head_dim that is a multiple of " + std::to_string(multiple) +
                           ", up to " + std::to_string(most) +
                           (problem.backward ? " in the backward pass" : "") + " on " +
                           device.arch());
  }
  if (problem.window > 0 && problem.seq > problem.keys()) {
    return Support::no("E_UNSUPPORTED_SHAPE", "takes a window only with seq <= seq_kv");
  }
  return Support::yes();
}

/// What depends on the library that was found, and would else be told less clearly.
void require_version(const DeviceInfo& device, const CudnnApi& cudnn,
                     const AttentionProblem& problem) {
  const std::size_t loaded = fe::detail::get_backend_version();
  const auto needs = [&](std::size_t version, const char* what, const char* text) {
    if (loaded >= version) return;
    throw Unsupported("E_CUDNN_VERSION", std::string(what) + " needs cuDNN " + text +
                                             " or newer; loaded is " + cudnn.version());
  };
  if (problem.dtype == Dtype::fp8_e4m3) needs(90100, "fp8", "9.1");
  if (problem.causal && problem.diagonal() != 0) {
    needs(90600, "causal_align=bottom_right", "9.6");
  }
  if (problem.window > 0) needs(90600, "window", "9.6");
  if (problem.head_dim <= 128) return;
  if (device.cc_major != 9) needs(91000, "head_dim above 128 on this GPU", "9.10");
  if (device.cc_major == 10 && problem.backward) {
    needs(92300, "a backward pass with head_dim=256 on this GPU", "9.23");
  }
}

std::unique_ptr<Plan> make_plan(Context& context, const AttentionProblem& problem) {
  CudnnApi& cudnn = context.libraries.cudnn();
  require_version(context.device.info(), cudnn, problem);
  return std::make_unique<CudnnAttention>(context, cudnn, problem);
}

}  // namespace

Provider<AttentionProblem> cudnn_attention_provider() { return {"cudnn", supports, make_plan}; }

}  // namespace gpubench
