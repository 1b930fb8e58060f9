// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "gpubench/error.h"
#include "measure/device_clock.h"
#include "ops/clock/clock.h"
#include "ops/support/op_job.h"
#include "util/units.h"

namespace gpubench {
namespace {

Conditions unrotated(Conditions conditions) {
  conditions.cache = CacheMode::hot;  // the data are read once and written once: nothing to rotate
  return conditions;
}

}  // namespace

ClockRing::ClockRing(Device& device) : device_(device), stamps_(device, bytes()) {
  const std::unique_ptr<Stream> stream = device_.make_stream();
  device_.fill_bytes(*stream, stamps_.data(), 0, stamps_.size());
  stream->synchronize();
}

ClockStamp* ClockRing::begin() {
  return static_cast<ClockStamp*>(stamps_.data()) + next_ % kClockSlots * 2 * kMostSms;
}

ClockStamp* ClockRing::end() { return begin() + kMostSms; }

std::optional<double> ClockRing::mhz(Stream& stream) {
  if (next_ == 0) return std::nullopt;
  std::vector<ClockStamp> stamps(stamps_.size() / sizeof(ClockStamp));
  device_.copy_to_host(stream, stamps.data(), stamps_.data(), stamps_.size());
  const std::size_t newest = (next_ - 1) % kClockSlots;
  const std::size_t oldest = next_ > kClockSlots ? next_ % kClockSlots : 0;
  const std::span<const ClockStamp> all(stamps);
  return clock_between(all.subspan(oldest * 2 * kMostSms, kMostSms),
                       all.subspan((newest * 2 + 1) * kMostSms, kMostSms));
}

#if GPUBENCH_HAS_CUDA
namespace {

class ClockPlan : public Plan {
 public:
  ClockPlan(const ClockProblem& problem, std::shared_ptr<ClockRing> ring)
      : problem_(problem), ring_(std::move(ring)) {}
  std::size_t workspace_bytes() const override { return 0; }
  std::string algorithm() const override {
    return problem_.tensor ? "mma.sync m16n8k16 bf16" : "fma.rn.f32";
  }
  void run(Stream& stream, std::span<void* const> operands, void*) override {
    ClockLoad load{.tensor = problem_.tensor,
                   .b = static_cast<const float*>(operands[operands.size() - 2]),
                   .out = static_cast<float*>(operands.back()),
                   .steps = problem_.steps,
                   .blocks = static_cast<unsigned>(problem_.blocks),
                   .begin = ring_->begin(),
                   .end = ring_->end()};
    if (problem_.tensor) load.a = static_cast<const float*>(operands.front());
    launch_clock_load(stream.native(), load);
    ring_->advance();
  }

 private:
  ClockProblem problem_;
  std::shared_ptr<ClockRing> ring_;
};

/// An OpJob that also tells the clock.
class ClockJob : public Job {
 public:
  ClockJob(Context& context, OpJobSpec spec, std::shared_ptr<ClockRing> ring)
      : job_(context, std::move(spec)), ring_(std::move(ring)) {}
  void enqueue(Stream& stream, std::size_t iteration) override { job_.enqueue(stream, iteration); }
  // A graph would write every stamp to the same place.
  Timing timing() const override { return Timing::stream; }
  Work work() const override { return job_.work(); }
  Check verify(Stream& stream) override { return job_.verify(stream); }
  std::optional<double> measured_clock_mhz(Stream& stream) override { return ring_->mhz(stream); }
  JobInfo info() const override {
    JobInfo info = job_.info();
    info.memory_bytes += ClockRing::bytes();
    return info;
  }

 private:
  OpJob job_;
  std::shared_ptr<ClockRing> ring_;
};

/// Computes on the host: the inputs are a few thousand numbers.
void reference_on_host(Device& device, Stream& stream, const ClockProblem& problem,
                       std::span<void* const> operands, float* out) {
  const std::vector<Operand> described = clock_operands(problem);
  std::vector<std::vector<float>> values;
  for (std::size_t i = 0; i + 1 < described.size(); ++i) {
    values.emplace_back(described[i].count);
    device.copy_to_host(stream, values.back().data(), operands[i],
                        described[i].count * sizeof(float));
  }
  std::vector<const float*> inputs;
  inputs.reserve(values.size());
  for (const std::vector<float>& input : values) inputs.push_back(input.data());
  std::vector<float> outputs(described.back().count);
  clock_reference(problem, inputs, outputs.data());
  device.copy_to_device(stream, out, outputs.data(), outputs.size() * sizeof(float));
}

}  // namespace
#endif

std::unique_ptr<Job> make_clock_job(Context& context,
                                    [[maybe_unused]] const ClockProblem& problem) {
  if (context.device.info().kind != DeviceKind::cuda) {
    throw Unsupported("E_UNSUPPORTED_DEVICE",
                      "needs a CUDA device: a processor's cores have no counter of cycles that a "
                      "program may read");
  }
#if GPUBENCH_HAS_CUDA
  const Conditions conditions = unrotated(context.conditions);
  Context unrotated_context{context.device, context.stream, context.libraries, conditions};
  auto ring = std::make_shared<ClockRing>(context.device);
  OpJobSpec spec;
  spec.operands = clock_operands(problem);
  spec.plan = std::make_unique<ClockPlan>(problem, ring);
  spec.work = clock_problem_work(problem);
  spec.info.impl = "own";
  spec.info.compute_type = "fp32";
  spec.info.peak_dtype = problem.tensor ? "bf16" : "fp32";
  spec.info.cache = "hot";
  spec.reference_name = "double on the host, every chain";
  spec.reference = [problem, &device = context.device](Stream& stream,
                                                       std::span<void* const> operands,
                                                       std::span<float* const> references) {
    reference_on_host(device, stream, problem, operands, references.front());
  };
  return std::make_unique<ClockJob>(unrotated_context, std::move(spec), std::move(ring));
#else
  throw Unsupported("E_NO_CUDA", "this build has no CUDA: build with a CUDA toolkit");
#endif
}

std::uint64_t clock_footprint(const DeviceInfo& device, const Conditions& conditions,
                              const ClockProblem& problem) {
  return checked_add({op_job_footprint(device, unrotated(conditions), clock_operands(problem)),
                      ClockRing::bytes()});
}

}  // namespace gpubench
