// SPDX-License-Identifier: Apache-2.0
// Operands of an op in rotating buffer sets, filled with seeded data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gpubench/workload.h"

namespace gpubench {

enum class Role { input, output };

struct Operand {
  std::string name = {};
  Role role = Role::input;
  /// Values are rounded to it; TF32 on a GPU stays FP32. Storage: see storage_dtype.
  Dtype dtype = Dtype::fp32;
  std::size_t count = 0;  ///< elements
  double scale = 1;  ///< inputs: normal has this standard deviation, uniform is in [-scale, scale]
  double tolerance = 0;  ///< outputs: bound on |out - ref| / (|ref| + rms(ref))
  /// Outputs whose rows differ much in size (causal attention: row i averages i values) are held to
  /// the rms of each row of `row` elements (count is a multiple), or to 1 % of the whole's where
  /// that is more. 0: one rms for all.
  std::size_t row = 0;
  /// Outputs that may cancel to nothing (dQ of one position): no rms counts as less than this.
  double least_rms = 0;
};

/// Products of two INT8 numbers that an INT32 sum holds whatever they are: k 2^14 < 2^31.
constexpr std::int64_t kMostInt8Products = (std::int64_t{1} << 17) - 1;

/// What `dtype` is stored as on the device: itself on a GPU (tf32 as fp32). On the cpu device fp32,
/// but for the types that FP32 can't hold: fp64 and int32.
Dtype storage_dtype(DeviceKind kind, Dtype dtype);
/// Type of the values that outputs of `dtype` are compared with: fp64 for fp64 and int32, else
/// fp32.
Dtype reference_dtype(Dtype dtype);
/// The byte that outputs are filled with before a run, so that what is not written is seen: NaN in
/// every floating type; in INT32 a number below any sum of kMostInt8Products products.
int poison_byte(Dtype dtype);
std::uint64_t operand_bytes(DeviceKind kind, const Operand& operand);  ///< rounded up to 256

/// Sets so that two uses of the same buffer have at least twice the L2's bytes between them: at
/// least 2, at most 1024, 1 for CacheMode::hot.
std::size_t rotation_sets(const DeviceInfo& device, CacheMode cache, std::uint64_t bytes_per_set);

/// All sets hold the same values at different addresses, so one reference serves them all.
class OperandSets {
 public:
  OperandSets(Context& context, std::vector<Operand> operands);
  std::size_t sets() const { return sets_; }
  const std::vector<Operand>& operands() const { return operands_; }
  std::span<void* const> set(std::size_t index) const;  ///< pointers, in the order of `operands`
  std::uint64_t bytes() const;                          ///< of all sets
  std::uint64_t bytes_per_set() const { return bytes_per_set_; }
  /// Every output of the set becomes poison_byte() of its type.
  void poison_outputs(Stream& stream, std::size_t set);

 private:
  Device& device_;
  std::vector<Operand> operands_;
  std::size_t sets_;
  std::uint64_t bytes_per_set_;
  Buffer memory_;
  std::vector<void*> pointers_;  // sets_ x operands
};

/// Seeded data of the conditions' distribution, rounded to operand.dtype, the same on every device
/// kind up to the last bit of log and cos. Each operand index draws from its own stream of the
/// seed.
void fill_operand(Device& device, Stream& stream, void* to, const Operand& operand, DataDist data,
                  std::uint64_t seed, std::size_t operand_index);

/// Compares `count` elements (storage as on the device) with reference values of
/// reference_dtype(operand.dtype) on the same device. Non-finite output fails. Error as in Check.
Check compare_with_reference(Device& device, Stream& stream, const void* out,
                             const Operand& operand, const void* reference);

}  // namespace gpubench
