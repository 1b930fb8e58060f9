// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <utility>

#include "core/formulas.h"
#include "gpubench/error.h"
#include "ops/launch/launch.h"

namespace gpubench {
namespace {

/// A stream takes about a thousand launches before a call waits for the device; whoever measures
/// the calls must stay below with a whole batch of them.
constexpr std::int64_t kMostQueued = 256;
constexpr std::uint64_t kCheckedIterations = 3;
constexpr int kPoison = 0xFF;

class LaunchJob : public Job {
 public:
  LaunchJob(Context& context, const LaunchProblem& problem, LaunchKernel kernel)
      : device_(context.device),
        problem_(problem),
        kernel_(kernel),
        fault_(context.conditions.fault),
        tally_(device_, sizeof(LaunchTally)) {
    if (problem_.mode == LaunchMode::stream) return;
    measured_ = graph_of(context.stream, nullptr);
    checked_ = graph_of(context.stream, tally());
  }

  void enqueue(Stream& stream, std::size_t) override { run(stream, measured_.get(), nullptr); }
  Timing timing() const override { return problem_.measure; }
  Work work() const override { return launch_work(static_cast<std::uint64_t>(problem_.kernels)); }

  JobInfo info() const override {
    JobInfo info;
    info.impl = "own";
    info.algorithm = problem_.mode == LaunchMode::graph
                         ? fmt::format("cudaGraphLaunch of {} kernels", problem_.kernels)
                         : "kernel<<<1, 1>>>";
    info.memory_bytes = tally_.size();
    info.cache = "hot";
    return info;
  }

  Check verify(Stream& stream) override {
    device_.fill_bytes(stream, tally(), 0, sizeof(LaunchTally));
    for (std::uint64_t i = 0; i < kCheckedIterations; ++i) run(stream, checked_.get(), tally());
    if (fault_ == Fault::nan) device_.fill_bytes(stream, tally(), kPoison, sizeof(LaunchTally));
    LaunchTally found;
    device_.copy_to_host(stream, &found, tally(), sizeof(found));
    const std::uint64_t launches =
        kCheckedIterations * static_cast<std::uint64_t>(problem_.kernels);
    const std::uint64_t checksum = launches * payload_checksum(problem_.argument_bytes);
    Check check;
    check.passed = found.launches == launches && found.checksum == checksum;
    check.error = found.launches > launches ? double(found.launches - launches)
                                            : double(launches - found.launches);
    if (check.error == 0 && !check.passed) check.error = 1;
    check.reference = "each kernel counts itself and adds up its arguments";
    if (!check.passed) {
      check.detail = fmt::format("{} launches with a checksum of {} instead of {} with {}",
                                 found.launches, found.checksum, launches, checksum);
    }
    return check;
  }

 private:
  LaunchTally* tally() { return static_cast<LaunchTally*>(tally_.data()); }

  /// Every kernel of an iteration; a planted fault is in the last.
  void launch_all(Stream& stream, LaunchTally* tally) {
    for (std::int64_t i = 0; i < problem_.kernels; ++i) {
      LaunchFault fault = LaunchFault::none;
      if (i + 1 == problem_.kernels) {
        if (fault_ == Fault::unwritten_tile) return;
        if (fault_ == Fault::wrong_element) fault = LaunchFault::wrong_byte;
        if (fault_ == Fault::swapped_operands) fault = LaunchFault::reversed_arguments;
        // Without arguments that could be wrong, one launch too many.
        if (fault != LaunchFault::none && payload_checksum(problem_.argument_bytes) == 0) {
          kernel_(stream.native(), problem_.argument_bytes, tally, LaunchFault::none);
        }
      }
      kernel_(stream.native(), problem_.argument_bytes, tally, fault);
    }
  }

  std::unique_ptr<Graph> graph_of(Stream& stream, LaunchTally* tally) {
    std::unique_ptr<Graph> graph =
        device_.capture(stream, [this, &stream, tally] { launch_all(stream, tally); });
    if (!graph) throw Unsupported("E_UNSUPPORTED_DEVICE", "this device has no graphs");
    return graph;
  }

  void run(Stream& stream, Graph* graph, LaunchTally* tally) {
    if (graph != nullptr) return graph->launch(stream);
    launch_all(stream, tally);
  }

  Device& device_;
  LaunchProblem problem_;
  LaunchKernel kernel_;
  Fault fault_;
  Buffer tally_;
  std::unique_ptr<Graph> measured_, checked_;  // set in graph mode
};

}  // namespace

Timing parse_launch_measure(const std::string& name) {
  if (name == "throughput") return Timing::stream;
  if (name == "enqueue") return Timing::enqueue;
  if (name == "latency") return Timing::latency;
  throw ConfigError("unknown measure '" + name + "'; there are: throughput, enqueue, latency");
}

std::unique_ptr<Job> make_launch_job(Context& context, const LaunchProblem& problem,
                                     LaunchKernel kernel) {
  if (problem.mode == LaunchMode::stream && problem.measure == Timing::enqueue &&
      problem.kernels > kMostQueued) {
    throw ConfigError(
        fmt::format("micro/launch: kernels={} with measure=enqueue would fill the "
                    "stream's queue, and the calls would wait; at most {}",
                    problem.kernels, kMostQueued));
  }
  return std::make_unique<LaunchJob>(context, problem, kernel);
}

std::unique_ptr<Job> make_launch_job(Context& context, const LaunchProblem& problem) {
  if (context.device.info().kind != DeviceKind::cuda) {
    throw Unsupported("E_UNSUPPORTED_DEVICE",
                      "needs a CUDA device: the cpu device computes in the call, it launches "
                      "nothing");
  }
#if GPUBENCH_HAS_CUDA
  return make_launch_job(context, problem, launch_empty);
#else
  static_cast<void>(problem);
  throw Unsupported("E_NO_CUDA", "this build has no CUDA: build with a CUDA toolkit");
#endif
}

}  // namespace gpubench
