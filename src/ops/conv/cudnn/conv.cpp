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
#include <cmath>
#include <cstdint>
#include <memory>
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

constexpr std::size_t kCandidates = 12;
/// Several plans of a dozen are variants of one kernel: more than the usual number, so that another
/// tile that draws less power is among them. On an H200 at its power limit the 256 x 128 tiles of
/// TF32 are 9 % slower than the 128 x 128 in turn and 2 to 4 % faster alone, over a period of the
/// limit's control (0.97 s).
constexpr Finals kFinals{.most = 6, .within = 1.15, .seconds = 0.97};
/// Output elements by which plans are compared before they are timed: of the first images.
constexpr std::size_t kCompared = std::size_t{1} << 20;
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

/// `by_note` goes by cuDNN's word alone. `by_result` takes plans of 16-bit types that are noted as
/// reducing in less than FP32, for the caller to compare: the note is also on plans whose results
/// are as exact as any (engine 63 of the first layer of ResNet-50, three times faster).
enum class Sums { by_note, by_result };

/// What a plan may not do, so that the report's compute type and flop rule are true.
std::vector<fe::NumericalNote_t> forbidden_notes(Dtype dtype, Sums sums) {
  using Note = fe::NumericalNote_t;
  std::vector<Note> notes{
      Note::DOWN_CONVERT_INPUTS,  // FP32 data as FP16: narrower than TF32's exponent
      // Fewer multiplications than the flop rule counts, of less accuracy.
      Note::FFT, Note::WINOGRAD, Note::WINOGRAD_TILE_4x4, Note::WINOGRAD_TILE_6x6,
      Note::WINOGRAD_TILE_13x13};
  if (sums == Sums::by_note || storage_bytes(dtype) != 2) {
    notes.push_back(Note::REDUCED_PRECISION_REDUCTION);
  }
  if (dtype == Dtype::fp32) notes.push_back(Note::TENSOR_CORE);  // would cut FP32 data to TF32
  return notes;
}

/// One convolution with the plans that cuDNN has for it.
class PlannedGraph {
 public:
  PlannedGraph(CudnnApi& cudnn, const Stream& stream, const ConvProblem& problem, Sums sums)
      : cudnn_(cudnn) {
    build_node(graph_, problem);
    require_support(graph_.validate());
    require_support(graph_.build_operation_graph(cudnn_.handle(stream.native())));
    require_support(graph_.create_execution_plans({fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK}));
    graph_.deselect_numeric_notes(forbidden_notes(problem.dtype, sums))
        .deselect_workspace_greater_than(static_cast<std::int64_t>(kMostConvWorkspace));
    if (problem.pass == ConvPass::wgrad) graph_.deselect_engines({kUnmarkedWinogradWgrad});
    require_support(graph_.check_support());
  }

  /// The first `wanted` plans that build, in the order of cuDNN's heuristic.
  std::vector<std::int64_t> build(std::size_t wanted) {
    std::vector<std::int64_t> built;
    std::string refused;
    const std::int64_t count = graph_.get_execution_plan_count();
    for (std::int64_t plan = 0; plan < count && built.size() < wanted; ++plan) {
      fe::error_t status = graph_.build_plan_at_index(plan);
      if (status.is_good()) {
        built.push_back(plan);
      } else if (refused.empty()) {
        refused = status.get_message();
      }
    }
    if (!built.empty()) return built;
    throw Unsupported("E_UNSUPPORTED_SHAPE",
                      fmt::format("cuDNN {} builds none of its {} plans for this convolution: {}",
                                  cudnn_.version(), count, refused));
  }

  std::string name(std::int64_t plan) const {
    std::string name;
    require(graph_.get_plan_name_at_index(plan, name), "asking for the plan's name");
    return name;
  }

  std::size_t workspace_bytes(std::int64_t plan) const {
    std::int64_t bytes = 0;
    require(graph_.get_workspace_size_plan_at_index(plan, bytes), "asking for the workspace");
    return static_cast<std::size_t>(bytes);
  }

  void launch(Stream& stream, std::span<void* const> operands, void* workspace,
              std::int64_t plan) const {
    std::array<void*, conv_operand::kCount> pointers{};
    std::copy(operands.begin(), operands.end(), pointers.begin());
    require(graph_.execute_plan_at_index(cudnn_.handle(stream.native()), pointers.data(),
                                         static_cast<int>(pointers.size()), workspace, plan),
            "running");
  }

 private:
  CudnnApi& cudnn_;
  fe::graph::Graph graph_;
};

/// Whether two results may be of the same sums: each is within the tolerance of the exact one.
bool agree(const std::vector<float>& a, const std::vector<float>& b, double tolerance) {
  double squares = 0;
  for (const float value : a) squares += double(value) * double(value);
  const double rms = std::sqrt(squares / double(std::max<std::size_t>(a.size(), 1)));
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double allowed = 2 * tolerance * (std::fabs(double(a[i])) + rms);
    if (!(std::fabs(double(a[i]) - double(b[i])) <= allowed)) return false;
  }
  return true;
}

class CudnnConv : public Plan {
 public:
  CudnnConv(Context& context, const ConvProblem& problem)
      : graph_(context.libraries.cudnn(), context.stream, problem,
               problem.tune ? Sums::by_result : Sums::by_note),
        tuned_(problem.tune),
        candidates_(graph_.build(problem.tune ? kCandidates : 1)) {
    if (problem.tune) tune(context, problem);  // one candidate, too, may have the note
  }

  std::size_t workspace_bytes() const override { return graph_.workspace_bytes(chosen()); }

  std::string algorithm() const override {
    const std::string name = graph_.name(chosen());
    return tuned_ ? fmt::format("{}, tuned of {}", name, candidates_.size()) : name;
  }

  void run(Stream& stream, std::span<void* const> operands, void* workspace) override {
    graph_.launch(stream, operands, workspace, chosen());
  }

 private:
  std::int64_t chosen() const { return candidates_[chosen_]; }

  void tune(Context& context, const ConvProblem& problem) {
    OperandSets sets(context, conv_operands(problem));
    std::size_t most_workspace = 1;
    for (const std::int64_t plan : candidates_) {
      most_workspace = std::max(most_workspace, graph_.workspace_bytes(plan));
    }
    const Buffer workspace(context.device, most_workspace);
    if (storage_bytes(problem.dtype) == 2) leave_out_coarse(context, problem, sets, workspace);
    std::vector<Candidate> timed;
    for (const std::int64_t plan : candidates_) {
      timed.emplace_back([this, &sets, &workspace, plan](Stream& stream, std::size_t iteration) {
        graph_.launch(stream, sets.set(iteration % sets.sets()), workspace.data(), plan);
      });
    }
    chosen_ = fastest(context, timed, kFinals);
  }

  /// Keeps the candidates whose results agree with those of a plan that sums in FP32 by cuDNN's
  /// word. Verification compares every element of the chosen one in the end, but must not be what
  /// tells that the choice was none.
  void leave_out_coarse(Context& context, const ConvProblem& problem, OperandSets& sets,
                        const Buffer& workspace) {
    PlannedGraph exact(context.libraries.cudnn(), context.stream, problem, Sums::by_note);
    const std::int64_t plan = exact.build(1).front();
    const Buffer own_workspace(context.device,
                               std::max<std::size_t>(exact.workspace_bytes(plan), 1));
    const auto result = [&](const PlannedGraph& graph, const Buffer& memory, std::int64_t which) {
      end_if_stopped(context.stop);
      sets.poison_outputs(context.stream, 0);
      graph.launch(context.stream, sets.set(0), memory.data(), which);
      return first_outputs(context, sets);
    };
    const std::vector<float> expected = result(exact, own_workspace, plan);
    std::erase_if(candidates_, [&](std::int64_t candidate) {
      return !agree(expected, result(graph_, workspace, candidate), conv_tolerance(problem));
    });
    if (candidates_.empty()) {
      throw LibraryError("E_CUDNN", "cuDNN's plans for this convolution disagree with one another");
    }
  }

  static std::vector<float> first_outputs(Context& context, const OperandSets& sets) {
    const Operand& output = sets.operands()[conv_operand::kOutput];
    std::vector<std::uint16_t> bits(std::min(output.count, kCompared));
    context.device.copy_to_host(context.stream, bits.data(), sets.set(0)[conv_operand::kOutput],
                                bits.size() * sizeof(bits[0]));
    std::vector<float> values(bits.size());
    std::transform(bits.begin(), bits.end(), values.begin(),
                   [&](std::uint16_t value) { return decode(output.dtype, value); });
    return values;
  }

  PlannedGraph graph_;
  bool tuned_;
  std::vector<std::int64_t> candidates_;  // plans that were built, best first by the heuristic
  std::size_t chosen_ = 0;
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
