// SPDX-License-Identifier: Apache-2.0
#include "ops/support/operands.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "gpubench/error.h"
#include "ops/support/data.h"
#include "util/units.h"

namespace gpubench {
namespace {

constexpr std::uint64_t kAlignment = 256;
constexpr std::size_t kMostSets = 1024;

std::uint64_t bytes_of_set(DeviceKind kind, const std::vector<Operand>& operands) {
  std::uint64_t bytes = 0;
  for (const Operand& operand : operands) {
    bytes = checked_add({bytes, operand_bytes(kind, operand)});
  }
  return bytes;
}

/// The shortest text that tells the number from its neighbours in the type it was compared in.
/// Which sign a NaN has tells nothing.
std::string number_text(Dtype dtype, double value) {
  if (std::isnan(value)) return "NaN";
  return reference_dtype(dtype) == Dtype::fp64 ? fmt::format("{}", value)
                                               : fmt::format("{}", static_cast<float>(value));
}

}  // namespace

Dtype storage_dtype(DeviceKind kind, Dtype dtype) {
  const bool wide = reference_dtype(dtype) == Dtype::fp64;
  if (kind == DeviceKind::cpu) return wide ? dtype : Dtype::fp32;
  return dtype == Dtype::tf32 ? Dtype::fp32 : dtype;
}

Dtype reference_dtype(Dtype dtype) {
  return dtype == Dtype::fp64 || dtype == Dtype::int32 ? Dtype::fp64 : Dtype::fp32;
}

// 0x80808080 is -2139062144; the least sum is 131071 x 127 x -128 = -2130690176.
int poison_byte(Dtype dtype) { return dtype == Dtype::int32 ? 0x80 : 0xFF; }

std::uint64_t operand_bytes(DeviceKind kind, const Operand& operand) {
  const std::uint64_t bytes =
      checked_mul({operand.count, storage_bytes(storage_dtype(kind, operand.dtype))});
  return checked_add({bytes, kAlignment - 1}) / kAlignment * kAlignment;
}

std::size_t rotation_sets(const DeviceInfo& device, CacheMode cache, std::uint64_t bytes_per_set) {
  if (cache == CacheMode::hot) return 1;
  const std::uint64_t bytes = std::max<std::uint64_t>(bytes_per_set, 1);
  // The bytes between two uses of a buffer are those of all the other sets.
  const std::uint64_t others = (2 * device.l2_bytes + bytes - 1) / bytes;
  return static_cast<std::size_t>(std::clamp<std::uint64_t>(others + 1, 2, kMostSets));
}

OperandSets::OperandSets(Context& context, std::vector<Operand> operands)
    : device_(context.device),
      operands_(std::move(operands)),
      sets_(1),
      bytes_per_set_(bytes_of_set(device_.info().kind, operands_)) {
  const DeviceKind kind = device_.info().kind;
  sets_ = rotation_sets(device_.info(), context.conditions.cache, bytes_per_set_);
  memory_ = Buffer(device_, static_cast<std::size_t>(bytes()));
  pointers_.reserve(sets_ * operands_.size());
  std::byte* next = memory_.bytes();
  for (std::size_t set = 0; set < sets_; ++set) {
    for (const Operand& operand : operands_) {
      pointers_.push_back(next);
      next += operand_bytes(kind, operand);
    }
  }
  const std::span<void* const> first = this->set(0);
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    if (operands_[i].role != Role::input) continue;
    fill_operand(device_, context.stream, first[i], operands_[i], context.conditions.data,
                 context.conditions.seed, i);
  }
  for (std::size_t set = 1; set < sets_; ++set) {
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      if (operands_[i].role != Role::input) continue;
      device_.copy_on_device(
          context.stream, this->set(set)[i], first[i],
          operands_[i].count * storage_bytes(storage_dtype(kind, operands_[i].dtype)));
    }
  }
  for (std::size_t set = 0; set < sets_; ++set) poison_outputs(context.stream, set);
  context.stream.synchronize();
}

std::span<void* const> OperandSets::set(std::size_t index) const {
  return std::span<void* const>(pointers_).subspan(index * operands_.size(), operands_.size());
}

std::uint64_t OperandSets::bytes() const { return checked_mul({sets_, bytes_per_set_}); }

void OperandSets::poison_outputs(Stream& stream, std::size_t set) {
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    if (operands_[i].role != Role::output) continue;
    device_.fill_bytes(stream, this->set(set)[i], poison_byte(operands_[i].dtype),
                       static_cast<std::size_t>(operand_bytes(device_.info().kind, operands_[i])));
  }
}

void fill_operand(Device& device, Stream& stream, void* to, const Operand& operand, DataDist data,
                  std::uint64_t seed, std::size_t operand_index) {
  data_backend(device.info().kind)
      .fill(stream, to,
            {.dtype = operand.dtype,
             .data = data,
             .scale = operand.scale,
             .seed = seed,
             .stream = operand_index,
             .count = operand.count});
}

Check compare_with_reference(Device& device, Stream& stream, const void* out,
                             const Operand& operand, const void* reference) {
  const DeviceKind kind = device.info().kind;
  const Difference found = data_backend(kind).compare(device, stream, out, reference,
                                                      {.dtype = storage_dtype(kind, operand.dtype),
                                                       .count = operand.count,
                                                       .row = operand.row,
                                                       .least_rms = operand.least_rms,
                                                       .tolerance = operand.tolerance});
  Check check;
  check.passed = found.bad == 0 && found.nonfinite == 0 && found.max_error <= operand.tolerance;
  check.error = found.nonfinite == 0 ? found.max_error : std::numeric_limits<double>::infinity();
  check.tolerance = operand.tolerance;
  if (!check.passed) {
    check.detail = fmt::format(
        "{}: {} of {} elements wrong ({} not finite), the first at {}: {} instead of {}",
        operand.name, found.bad, operand.count, found.nonfinite, found.first_bad,
        number_text(operand.dtype, found.first_out),
        number_text(operand.dtype, found.first_reference));
  }
  return check;
}

const DataBackend& data_backend(DeviceKind kind) {
  static const DataBackend cpu = cpu_data_backend();
#if GPUBENCH_HAS_CUDA
  static const DataBackend cuda = cuda_data_backend();
  if (kind == DeviceKind::cuda) return cuda;
#endif
  if (kind == DeviceKind::cpu) return cpu;
  throw DeviceError("E_NO_CUDA",
                    "this build has no CUDA: build with a CUDA toolkit, or --device cpu");
}

}  // namespace gpubench
