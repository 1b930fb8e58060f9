// SPDX-License-Identifier: Apache-2.0
// The Job of every op: rotating operands, one plan, verification of every set against one
// reference, and planted faults for testing that verification.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpubench/provider.h"
#include "ops/support/operands.h"

namespace gpubench {

/// Computes the outputs in double from the inputs, independently of every provider, into FP32
/// arrays on the device, one per output in operand order.
using ReferenceFn = std::function<void(Stream&, std::span<void* const> operands,
                                       std::span<float* const> references)>;

/// The same into FP64 arrays, for outputs of reference_dtype() fp64.
using WideReferenceFn = std::function<void(Stream&, std::span<void* const> operands,
                                           std::span<double* const> references)>;

/// Checks the outputs of one set itself, where computing every element in double would take too
/// long.
using VerifySetFn = std::function<Check(Stream&, std::span<void* const> operands)>;

struct OpJobSpec {
  std::vector<Operand> operands;
  std::unique_ptr<Plan> plan;
  Work work;
  JobInfo info;  ///< impl, compute_type, emulated, peak_dtype; the rest is filled in
  ReferenceFn reference;
  WideReferenceFn wide_reference = {};  ///< set: used instead of `reference`; all outputs are wide
  VerifySetFn verify_set = {};          ///< set: used instead of a reference, and none is allocated
  std::string reference_name;           ///< "double on the device, every element"
  /// Run once, after every set is filled and before anything else runs: overwrites inputs that
  /// can't be random (attention's backward needs the O and LSE of its Q, K, V). Leaves all sets
  /// alike; may allocate for as long as it runs.
  std::function<void(Stream&, const OperandSets&)> prepare_inputs = {};
};

class OpJob : public Job {
 public:
  OpJob(Context& context, OpJobSpec spec);
  ~OpJob() override;
  void enqueue(Stream& stream, std::size_t iteration) override;
  std::size_t sets() const override;
  Work work() const override;
  JobInfo info() const override;
  Check verify(Stream& stream) override;
  std::vector<OutputView> outputs(std::size_t set) const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Device memory an OpJob of these operands takes: all sets, plus the references unless the op
/// has a verify_set. Workspace comes on top. Throws ConfigError where it overflows.
std::uint64_t op_job_footprint(const DeviceInfo& device, const Conditions& conditions,
                               const std::vector<Operand>& operands, bool references = true);

/// Wraps a plan so that its result is wrong in the given way after each run, in one output, the
/// `output`-th in the order of the operands.
/// wrong_element: one element gets another finite value (at least 2 rms away);
/// unwritten_tile: a run of at least 64 elements keeps the poison;
/// swapped_operands: the first two inputs change places (only where they have equal byte sizes;
/// else the first input is replaced by a shifted view of itself); nan: one element becomes NaN, or
/// in a type without one its poison; rare_bits: now and then the lowest byte of one element
/// changes, too little to be wrong by any tolerance in FP32.
std::unique_ptr<Plan> plant_fault(Device& device, std::unique_ptr<Plan> plan,
                                  const std::vector<Operand>& operands, Fault fault,
                                  std::size_t output = 0);

}  // namespace gpubench
