// SPDX-License-Identifier: Apache-2.0
#include "ops/support/op_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "gpubench/error.h"
#include "util/units.h"

namespace gpubench {
namespace {

Operand reference_operand(const Operand& output) {
  return {.name = output.name,
          .role = Role::input,
          .dtype = reference_dtype(output.dtype),
          .count = output.count};
}

/// How far a check used up its tolerance; above 1 or NaN failed.
double strain(const Check& check) {
  if (check.error == 0) return 0;
  return check.tolerance > 0 ? check.error / check.tolerance
                             : std::numeric_limits<double>::infinity();
}

/// Keeps the first failure, else the check that came closest to its tolerance.
void keep_worse(std::optional<Check>& kept, Check check) {
  if (!kept || (kept->passed && (!check.passed || strain(check) > strain(*kept)))) {
    kept = std::move(check);
  }
}

}  // namespace

struct OpJob::State {
  State(Context& context, OpJobSpec spec)
      : device(context.device),
        stop(context.stop),
        sets(context, std::move(spec.operands)),
        plan(plant_fault(device, std::move(spec.plan), sets.operands(), context.conditions.fault)),
        workspace(device, std::max<std::size_t>(plan->workspace_bytes(), 1)),
        work(std::move(spec.work)),
        info(std::move(spec.info)),
        reference(std::move(spec.reference)),
        wide_reference(std::move(spec.wide_reference)),
        verify_set(std::move(spec.verify_set)),
        reference_name(std::move(spec.reference_name)) {
    if (spec.prepare_inputs) spec.prepare_inputs(context.stream, sets);
    if (!verify_set) {
      for (const Operand& operand : sets.operands()) {
        if (operand.role != Role::output) continue;
        const auto bytes =
            static_cast<std::size_t>(operand_bytes(device.info().kind, reference_operand(operand)));
        references.emplace_back(device, bytes);
        if (!!wide_reference != (reference_dtype(operand.dtype) == Dtype::fp64)) {
          throw Error("E_INTERNAL", "the reference of " + operand.name + " is of another type");
        }
      }
    }
    info.algorithm = plan->algorithm();
    info.workspace_bytes = plan->workspace_bytes();
    info.memory_bytes = sets.bytes() + info.workspace_bytes;
    for (const Buffer& buffer : references) info.memory_bytes += buffer.size();
    const std::uint64_t rotated = (sets.sets() - 1) * sets.bytes_per_set();
    if (context.conditions.cache == CacheMode::cold && rotated < 2 * device.info().l2_bytes) {
      info.warnings.emplace_back("W_CACHE_RESIDENT");
    }
  }

  Device& device;
  std::stop_token stop;
  OperandSets sets;
  std::unique_ptr<Plan> plan;
  Buffer workspace;
  Work work;
  JobInfo info;
  ReferenceFn reference;
  WideReferenceFn wide_reference;
  VerifySetFn verify_set;
  std::string reference_name;
  std::vector<Buffer> references;  // one per output
  bool reference_made = false;

  void run(Stream& stream, std::size_t set) { plan->run(stream, sets.set(set), workspace.data()); }

  void make_references(Stream& stream) {
    if (wide_reference) {
      wide_reference(stream, sets.set(0), reference_pointers<double>());
    } else {
      reference(stream, sets.set(0), reference_pointers<float>());
    }
    stream.synchronize();
    reference_made = true;
  }

  template <class T>
  std::vector<T*> reference_pointers() const {
    std::vector<T*> pointers;
    for (const Buffer& buffer : references) pointers.push_back(static_cast<T*>(buffer.data()));
    return pointers;
  }

  Check check_set(Stream& stream, std::size_t set) {
    if (verify_set) return verify_set(stream, sets.set(set));
    std::optional<Check> worst;
    std::size_t output = 0;
    for (std::size_t i = 0; i < sets.operands().size(); ++i) {
      const Operand& operand = sets.operands()[i];
      if (operand.role != Role::output) continue;
      keep_worse(worst, compare_with_reference(device, stream, sets.set(set)[i], operand,
                                               references[output++].data()));
    }
    if (!worst) throw Error("E_INTERNAL", "an op without outputs can't be verified");
    return *worst;
  }
};

OpJob::OpJob(Context& context, OpJobSpec spec)
    : state_(std::make_unique<State>(context, std::move(spec))) {}

OpJob::~OpJob() = default;

void OpJob::enqueue(Stream& stream, std::size_t iteration) {
  state_->run(stream, iteration % state_->sets.sets());
}

std::size_t OpJob::sets() const { return state_->sets.sets(); }

Work OpJob::work() const { return state_->work; }

JobInfo OpJob::info() const { return state_->info; }

Check OpJob::verify(Stream& stream) {
  State& state = *state_;
  // Once, from the inputs before the provider first runs: later changes to them show as errors.
  if (!state.verify_set && !state.reference_made) {
    state.make_references(stream);
  }
  std::optional<Check> worst;
  for (std::size_t set = 0; set < state.sets.sets(); ++set) {
    end_if_stopped(state.stop);
    state.sets.poison_outputs(stream, set);
    state.run(stream, set);
    Check check = state.check_set(stream, set);
    if (!check.passed) {
      check.detail = fmt::format("buffer set {} of {}: {}", set, state.sets.sets(), check.detail);
    }
    keep_worse(worst, std::move(check));
  }
  worst->reference = state.reference_name;
  return *worst;
}

std::vector<OutputView> OpJob::outputs(std::size_t set) const {
  const OperandSets& sets = state_->sets;
  const DeviceKind kind = state_->device.info().kind;
  std::vector<OutputView> views;
  for (std::size_t i = 0; i < sets.operands().size(); ++i) {
    const Operand& operand = sets.operands()[i];
    if (operand.role != Role::output) continue;
    views.push_back(
        {sets.set(set)[i], operand.count * storage_bytes(storage_dtype(kind, operand.dtype))});
  }
  return views;
}

std::uint64_t op_job_footprint(const DeviceInfo& device, const Conditions& conditions,
                               const std::vector<Operand>& operands, bool references) {
  std::uint64_t per_set = 0, reference_bytes = 0;
  for (const Operand& operand : operands) {
    per_set = checked_add({per_set, operand_bytes(device.kind, operand)});
    if (references && operand.role == Role::output) {
      reference_bytes =
          checked_add({reference_bytes, operand_bytes(device.kind, reference_operand(operand))});
    }
  }
  return checked_add(
      {checked_mul({rotation_sets(device, conditions.cache, per_set), per_set}), reference_bytes});
}

}  // namespace gpubench
