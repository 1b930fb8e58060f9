// SPDX-License-Identifier: Apache-2.0
// Plans that are wrong on purpose, so that tests can show that verification finds it.
#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "ops/support/op_job.h"

namespace gpubench {
namespace {

constexpr std::size_t kTileElements = 64;
/// Runs from one flip of rare_bits to the next, and what its lowest byte becomes.
constexpr std::size_t kRareRuns = 50;
constexpr int kOddByte = 0x5b;
constexpr std::size_t kShiftBytes = 256;
/// Finite in FP16 and far from any output of random data: those stay within a few hundred.
constexpr float kWrongValue = -30000.f;
/// INT8 products of 1e5 terms have an rms of some 150 thousand.
constexpr float kWrongInteger = -2e9f;

std::vector<std::size_t> indices_of(const std::vector<Operand>& operands, Role role) {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].role == role) indices.push_back(i);
  }
  return indices;
}

class FaultyPlan : public Plan {
 public:
  FaultyPlan(Device& device, std::unique_ptr<Plan> plan, const std::vector<Operand>& operands,
             Fault fault, std::size_t which_output)
      : device_(device), plan_(std::move(plan)), fault_(fault) {
    const DeviceKind kind = device.info().kind;
    const auto bytes_each = [&](const Operand& operand) {
      return storage_bytes(storage_dtype(kind, operand.dtype));
    };
    const std::vector<std::size_t> outputs = indices_of(operands, Role::output);
    if (which_output >= outputs.size()) {
      throw Error("E_INTERNAL", "a fault needs an output to show in");
    }
    output_ = outputs[which_output];
    const Operand& output = operands[output_];
    element_bytes_ = bytes_each(output);
    // Neither first nor last, and in no special place of a tile.
    element_ = output.count - 1 - output.count / 3;
    output_count_ = output.count;
    tile_elements_ = std::min(output.count, kTileElements);
    poison_byte_ = poison_byte(output.dtype);
    if (fault == Fault::wrong_element) make_wrong_value(storage_dtype(kind, output.dtype));
    if (fault == Fault::swapped_operands) plan_swap(operands, bytes_each);
  }

  std::size_t workspace_bytes() const override { return plan_->workspace_bytes(); }
  std::string algorithm() const override { return plan_->algorithm(); }

  void run(Stream& stream, std::span<void* const> operands, void* workspace) override {
    std::vector<void*> given(operands.begin(), operands.end());
    if (fault_ == Fault::swapped_operands) {
      if (shifted_.data() != nullptr) {
        given[first_] = shift(stream, given[first_]);
      } else {
        std::swap(given[first_], given[second_]);
      }
    }
    plan_->run(stream, given, workspace);
    std::byte* out = static_cast<std::byte*>(given[output_]);
    std::byte* element = out + element_ * element_bytes_;
    if (fault_ == Fault::wrong_element) {
      device_.copy_on_device(stream, element, wrong_value_.data(), element_bytes_);
    } else if (fault_ == Fault::nan) {
      device_.fill_bytes(stream, element, poison_byte_, element_bytes_);
    } else if (fault_ == Fault::rare_bits) {
      if (++runs_ % kRareRuns == 0) device_.fill_bytes(stream, element, kOddByte, 1);
    } else if (fault_ == Fault::unwritten_tile) {
      const std::size_t begin = std::min(element_, output_count_ - tile_elements_);
      device_.fill_bytes(stream, out + begin * element_bytes_, poison_byte_,
                         tile_elements_ * element_bytes_);
    }
  }

 private:
  void make_wrong_value(Dtype storage) {
    const std::uint64_t bits =
        storage == Dtype::fp64
            ? std::bit_cast<std::uint64_t>(static_cast<double>(kWrongValue))
            : encode(storage, storage == Dtype::int32 ? kWrongInteger : kWrongValue);
    wrong_value_ = Buffer(device_, sizeof(bits));
    static_assert(std::endian::native == std::endian::little, "low bytes first");
    const std::unique_ptr<Stream> stream = device_.make_stream();
    device_.copy_to_device(*stream, wrong_value_.data(), &bits, sizeof(bits));
    stream->synchronize();
  }

  template <class BytesEach>
  void plan_swap(const std::vector<Operand>& operands, BytesEach bytes_each) {
    const std::vector<std::size_t> inputs = indices_of(operands, Role::input);
    if (inputs.empty()) throw Error("E_INTERNAL", "no input to exchange");
    first_ = inputs[0];
    const auto bytes_of = [&](std::size_t index) {
      return operands[index].count * bytes_each(operands[index]);
    };
    if (inputs.size() > 1 && bytes_of(first_) == bytes_of(inputs[1])) {
      second_ = inputs[1];
      return;
    }
    shift_bytes_ = bytes_of(first_) > 2 * kShiftBytes ? kShiftBytes : bytes_each(operands[first_]);
    shifted_ = Buffer(device_, bytes_of(first_));
  }

  /// A copy of the input, rotated: a view past its end would read other memory.
  void* shift(Stream& stream, void* input) {
    const auto* from = static_cast<const std::byte*>(input);
    const std::size_t rest = shifted_.size() - shift_bytes_;
    device_.copy_on_device(stream, shifted_.data(), from + shift_bytes_, rest);
    device_.copy_on_device(stream, shifted_.bytes() + rest, from, shift_bytes_);
    return shifted_.data();
  }

  Device& device_;
  std::unique_ptr<Plan> plan_;
  Fault fault_;
  std::size_t output_ = 0;
  std::size_t runs_ = 0;
  std::size_t element_bytes_ = 0;
  std::size_t element_ = 0;
  std::size_t output_count_ = 0;
  std::size_t tile_elements_ = 0;
  int poison_byte_ = 0;
  std::size_t first_ = 0, second_ = 0;  // inputs that change places
  std::size_t shift_bytes_ = 0;
  Buffer shifted_;      // set: the first input is shifted instead
  Buffer wrong_value_;  // one element
};

}  // namespace

std::unique_ptr<Plan> plant_fault(Device& device, std::unique_ptr<Plan> plan,
                                  const std::vector<Operand>& operands, Fault fault,
                                  std::size_t output) {
  if (fault == Fault::none) return plan;
  return std::make_unique<FaultyPlan>(device, std::move(plan), operands, fault, output);
}

}  // namespace gpubench
