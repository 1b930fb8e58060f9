// SPDX-License-Identifier: Apache-2.0
// Provider `cudnn`: one convolution node in cuDNN's graph interface. Like every file below a folder
// named cudnn/ it includes cudnn_frontend.h, a header of a minute's compile time: nothing else
// here.

// The header's graph serialisation is not used, and would bring a second copy of a JSON library.
#define CUDNN_FRONTEND_SKIP_JSON_LIB
#include <cudnn_frontend.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "libs/libraries.h"
#include "libs/nvidia/cudnn_api.h"
#include "ops/conv/providers.h"
#include "ops/support/tune.h"

namespace gpubench {
namespace {

namespace fe = cudnn_frontend;
using TensorPtr = std::shared_ptr<fe::graph::Tensor_attributes>;

constexpr std::size_t kCandidates = 8;
constexpr int kMinComputeCapability = 8;
/// Of wgrad, by the start of the plan's name: cuDNN 9.14 and 9.19 give this engine no numerical
/// note, though it runs winogradWgradData4x4 (seen with Nsight Compute on an H200).
constexpr const char* kUnmarkedWinogradWgrad = "eng17_";

/// cudnn-frontend takes pointers in ascending order of ids: with these, in operand order.
std::int64_t id_of(std::size_t index) { return static_cast<std::int64_t>(index) + 1; }

void require(fe::error_t status, const char* step) {
  if (status.is_good()) return;
  throw LibraryError("E_CUDNN",
                     std::string("cuDNN convolution, ") + step + ": " + status.get_message() +
                         " (CUDNN_LOGLEVEL_DBG=2 CUDNN_LOGDEST_DBG=stderr makes cuDNN say more)");
}

/// For the steps that fail where cuDNN has no kernel for a problem.
void require_support(fe::error_t status) {
  if (status.is_good()) return;
  throw Unsupported("E_UNSUPPORTED_SHAPE",
                    "cuDNN has no convolution for this: " + status.get_message());
}

fe::DataType_t io_type(Dtype dtype) {
  if (dtype == Dtype::fp16) return fe::DataType_t::HALF;
  if (dtype == Dtype::bf16) return fe::DataType_t::BFLOAT16;
  return fe::DataType_t::FLOAT;
}

/// Logical dimensions with the channels second, as cuDNN counts them, in memory innermost.
struct Layout {
  std::vector<std::int64_t> dims, strides;
  Layout(std::int64_t outer, std::int64_t channels, std::int64_t height, std::int64_t width)
      : dims{outer, channels, height, width},
        strides{height * width * channels, 1, width * channels, channels} {}
};

Layout input_layout(const ConvShape& s) { return {s.n, s.c, s.h, s.w}; }
Layout filter_layout(const ConvShape& s) { return {s.k, s.group_c(), s.r, s.s}; }
Layout output_layout(const ConvShape& s) { return {s.n, s.k, s.p(), s.q()}; }

void build_node(fe::graph::Graph& graph, const ConvProblem& problem) {
  const ConvShape& shape = problem.shape;
  graph.set_io_data_type(io_type(problem.dtype))
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT);
  const auto input = [&](std::size_t index, const Layout& layout) {
    return graph.tensor(fe::graph::Tensor_attributes()
                            .set_name("input" + std::to_string(index))
                            .set_uid(id_of(index))
                            .set_dim(layout.dims)
                            .set_stride(layout.strides));
  };
  const auto output = [&](const TensorPtr& tensor, const Layout& layout) {
    tensor->set_output(true)
        .set_uid(id_of(conv_operand::kOutput))
        .set_dim(layout.dims)
        .set_stride(layout.strides);
  };
  const auto configure = [&](auto attributes) {
    attributes.set_name("convolution")
        .set_padding({shape.pad, shape.pad})
        .set_stride({shape.stride, shape.stride})
        .set_dilation({shape.dilation, shape.dilation});
    return attributes;
  };
  const Layout x = input_layout(shape), w = filter_layout(shape), y = output_layout(shape);
  switch (problem.pass) {
    case ConvPass::forward:
      output(graph.conv_fprop(input(conv_operand::kFirst, x), input(conv_operand::kSecond, w),
                              configure(fe::graph::Conv_fprop_attributes())),
             y);
      break;
    case ConvPass::dgrad:
      output(graph.conv_dgrad(input(conv_operand::kFirst, y), input(conv_operand::kSecond, w),
                              configure(fe::graph::Conv_dgrad_attributes())),
             x);
      break;
    case ConvPass::wgrad: {
      const TensorPtr image = input(conv_operand::kFirst, x);
      const TensorPtr gradient = input(conv_operand::kSecond, y);
      output(graph.conv_wgrad(gradient, image, configure(fe::graph::Conv_wgrad_attributes())), w);
      break;
    }
  }
}

/// What a plan may not do, so that the report's compute type and flop rule are true.
std::vector<fe::NumericalNote_t> forbidden_notes(Dtype dtype) {
  using Note = fe::NumericalNote_t;
  std::vector<Note> notes{
      Note::DOWN_CONVERT_INPUTS,          // FP32 data as FP16: narrower than TF32's exponent
      Note::REDUCED_PRECISION_REDUCTION,  // sums kept in 16 bits
      // Fewer multiplications than the flop rule counts, of less accuracy.
      Note::FFT, Note::WINOGRAD, Note::WINOGRAD_TILE_4x4, Note::WINOGRAD_TILE_6x6,
      Note::WINOGRAD_TILE_13x13};
  if (dtype == Dtype::fp32) notes.push_back(Note::TENSOR_CORE);  // would cut FP32 data to TF32
  return notes;
}

class CudnnConv : public Plan {
 public:
  CudnnConv(Context& context, const ConvProblem& problem) : cudnn_(context.libraries.cudnn()) {
    build_node(graph_, problem);
    require_support(graph_.validate());
    require_support(graph_.build_operation_graph(cudnn_.handle(context.stream.native())));
    require_support(graph_.create_execution_plans({fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK}));
    graph_.deselect_numeric_notes(forbidden_notes(problem.dtype))
        .deselect_workspace_greater_than(static_cast<std::int64_t>(kMostConvWorkspace));
    if (problem.pass == ConvPass::wgrad) graph_.deselect_engines({kUnmarkedWinogradWgrad});
    require_support(graph_.check_support());
    build_candidates(problem.tune ? kCandidates : 1);
    if (problem.tune) tune(context, problem);
  }

  std::size_t workspace_bytes() const override { return workspace_of(chosen()); }

  std::string algorithm() const override {
    std::string name;
    require(graph_.get_plan_name_at_index(chosen(), name), "asking for the plan's name");
    return tuned_ ? fmt::format("{}, tuned of {}", name, candidates_.size()) : name;
  }

  void run(Stream& stream, std::span<void* const> operands, void* workspace) override {
    launch(stream, operands, workspace, chosen());
  }

 private:
  std::int64_t chosen() const { return candidates_[chosen_]; }

  std::size_t workspace_of(std::int64_t plan) const {
    std::int64_t bytes = 0;
    require(graph_.get_workspace_size_plan_at_index(plan, bytes), "asking for the workspace");
    return static_cast<std::size_t>(bytes);
  }

  /// The first `wanted` plans that build, in the order of cuDNN's heuristic.
  void build_candidates(std::size_t wanted) {
    std::string refused;
    const std::int64_t count = graph_.get_execution_plan_count();
    for (std::int64_t plan = 0; plan < count && candidates_.size() < wanted; ++plan) {
      fe::error_t status = graph_.build_plan_at_index(plan);
      if (status.is_good()) {
        candidates_.push_back(plan);
      } else if (refused.empty()) {
        refused = status.get_message();
      }
    }
    if (!candidates_.empty()) return;
    throw Unsupported("E_UNSUPPORTED_SHAPE",
                      fmt::format("cuDNN {} builds none of its {} plans for this convolution: {}",
                                  cudnn_.version(), count, refused));
  }

  void tune(Context& context, const ConvProblem& problem) {
    tuned_ = true;
    if (candidates_.size() < 2) return;
    const OperandSets sets(context, conv_operands(problem));
    std::size_t most_workspace = 1;
    for (const std::int64_t plan : candidates_) {
      most_workspace = std::max(most_workspace, workspace_of(plan));
    }
    const Buffer workspace(context.device, most_workspace);
    std::vector<Candidate> timed;
    for (const std::int64_t plan : candidates_) {
      timed.emplace_back([this, &sets, &workspace, plan](Stream& stream, std::size_t iteration) {
        launch(stream, sets.set(iteration % sets.sets()), workspace.data(), plan);
      });
    }
    chosen_ = fastest(context, timed);
  }

  void launch(Stream& stream, std::span<void* const> operands, void* workspace,
              std::int64_t plan) const {
    std::array<void*, conv_operand::kCount> pointers{};
    std::copy(operands.begin(), operands.end(), pointers.begin());
    require(graph_.execute_plan_at_index(cudnn_.handle(stream.native()), pointers.data(),
                                         static_cast<int>(pointers.size()), workspace, plan),
            "running");
  }

  CudnnApi& cudnn_;
  fe::graph::Graph graph_;
  std::vector<std::int64_t> candidates_;  // plans that were built, best first by the heuristic
  std::size_t chosen_ = 0;
  bool tuned_ = false;
};

Support supports(const DeviceInfo& device, const ConvProblem& problem) {
  if (device.kind != DeviceKind::cuda) {
    return Support::no("E_UNSUPPORTED_DEVICE", "needs an NVIDIA GPU");
  }
  if (device.cc_major < kMinComputeCapability) {
    return Support::no("E_UNSUPPORTED_ARCH", "needs sm_80 or newer; this is " + device.arch());
  }
  switch (problem.dtype) {
    case Dtype::fp16:
    case Dtype::bf16:
    case Dtype::tf32:
    case Dtype::fp32:
      return Support::yes();
    default:
      return Support::no("E_UNSUPPORTED_DTYPE", "takes fp16, bf16, tf32 and fp32");
  }
}

std::unique_ptr<Plan> make_plan(Context& context, const ConvProblem& problem) {
  return std::make_unique<CudnnConv>(context, problem);
}

}  // namespace

Provider<ConvProblem> cudnn_conv_provider() { return {"cudnn", supports, make_plan}; }

}  // namespace gpubench
