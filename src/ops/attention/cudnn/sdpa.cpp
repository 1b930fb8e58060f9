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

constexpr std::int64_t kMaxHeadDim = 128;
constexpr std::int64_t kHeadDimMultiple = 8;  // 16-byte rows
constexpr int kMinComputeCapability = 8;

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
void require_support(fe::error_t status) {
  if (status.is_good()) return;
  throw Unsupported("E_UNSUPPORTED_SHAPE",
                    "cuDNN has no attention kernel for this: " + status.get_message());
}

/// Builds the graph of one problem: logical dimensions [batch][heads][seq][head_dim], in memory
/// [batch][seq][heads][head_dim].
class GraphBuilder {
 public:
  GraphBuilder(fe::graph::Graph& graph, const AttentionProblem& problem)
      : graph_(graph), problem_(problem) {
    const auto type =
        problem.dtype == Dtype::fp16 ? fe::DataType_t::HALF : fe::DataType_t::BFLOAT16;
    graph_.set_io_data_type(type)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
  }

  void forward() {
    namespace at = attention_forward;
    auto options = fe::graph::SDPA_attributes()
                       .set_name("attention")
                       .set_generate_stats(true)
                       .set_attn_scale(scale());
    mask(options);
    const auto [o, stats] =
        graph_.sdpa(input(at::kQ, "q"), input(at::kK, "k"), input(at::kV, "v"), options);
    output(o, at::kO);
    stats->set_output(true)
        .set_uid(id_of(at::kLse))
        .set_data_type(fe::DataType_t::FLOAT)
        .set_dim(stats_dims())
        .set_stride(stats_strides());
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
        graph_.sdpa_backward(input(at::kQ, "q"), input(at::kK, "k"), input(at::kV, "v"),
                             input(at::kO, "o"), input(at::kDO, "do"), stats, options);
    output(dq, at::kDQ);
    output(dk, at::kDK);
    output(dv, at::kDV);
  }

 private:
  float scale() const { return 1 / std::sqrt(static_cast<float>(problem_.head_dim)); }

  template <class Options>
  void mask(Options& options) const {
    if (!problem_.causal) return;
    options.set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT)
        .set_diagonal_band_right_bound(0);
  }

  std::vector<std::int64_t> dims() const {
    return {problem_.batch, problem_.heads, problem_.seq, problem_.head_dim};
  }
  std::vector<std::int64_t> strides() const {
    const std::int64_t position = problem_.heads * problem_.head_dim;
    return {problem_.seq * position, problem_.head_dim, position, 1};
  }
  std::vector<std::int64_t> stats_dims() const {
    return {problem_.batch, problem_.heads, problem_.seq, 1};
  }
  std::vector<std::int64_t> stats_strides() const {
    return {problem_.heads * problem_.seq, problem_.seq, 1, 1};
  }

  TensorPtr input(std::size_t index, const char* name) {
    return graph_.tensor(fe::graph::Tensor_attributes()
                             .set_name(name)
                             .set_uid(id_of(index))
                             .set_dim(dims())
                             .set_stride(strides()));
  }

  void output(const TensorPtr& tensor, std::size_t index) const {
    tensor->set_output(true).set_uid(id_of(index)).set_dim(dims()).set_stride(strides());
  }

  fe::graph::Graph& graph_;
  const AttentionProblem& problem_;
};

class CudnnAttention : public Plan {
 public:
  CudnnAttention(CudnnApi& cudnn, Stream& stream, const AttentionProblem& problem) : cudnn_(cudnn) {
    GraphBuilder builder(graph_, problem);
    if (problem.backward) {
      builder.backward();
    } else {
      builder.forward();
    }
    cudnnHandle_t handle = cudnn_.handle(stream.native());
    require_support(graph_.validate());
    require_support(graph_.build_operation_graph(handle));
    require_support(graph_.create_execution_plans({fe::HeurMode_t::A}));
    require_support(graph_.check_support());
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
    std::array<void*, kMostOperands> pointers{};
    std::copy(operands.begin(), operands.end(), pointers.begin());
    require(graph_.execute(cudnn_.handle(stream.native()), pointers.data(),
                           static_cast<int>(operands.size()), workspace),
            "running");
  }

 private:
  static constexpr std::size_t kMostOperands = attention_backward::kCount;

  CudnnApi& cudnn_;
  fe::graph::Graph graph_;
  std::size_t workspace_bytes_ = 0;
  std::string name_;
};

Support supports(const DeviceInfo& device, const AttentionProblem& problem) {
  if (device.kind != DeviceKind::cuda) {
    return Support::no("E_UNSUPPORTED_DEVICE", "needs an NVIDIA GPU");
  }
  if (device.cc_major < kMinComputeCapability) {
    return Support::no("E_UNSUPPORTED_ARCH", "needs sm_80 or newer; this is " + device.arch());
  }
  if (problem.dtype != Dtype::fp16 && problem.dtype != Dtype::bf16) {
    return Support::no("E_UNSUPPORTED_DTYPE", "takes fp16 and bf16");
  }
  if (problem.head_dim > kMaxHeadDim || problem.head_dim % kHeadDimMultiple != 0) {
    return Support::no("E_UNSUPPORTED_SHAPE",
                       "takes a head_dim that is a multiple of 8, up to 128");
  }
  return Support::yes();
}

std::unique_ptr<Plan> make_plan(Context& context, const AttentionProblem& problem) {
  return std::make_unique<CudnnAttention>(context.libraries.cudnn(), context.stream, problem);
}

}  // namespace

Provider<AttentionProblem> cudnn_attention_provider() { return {"cudnn", supports, make_plan}; }

}  // namespace gpubench
