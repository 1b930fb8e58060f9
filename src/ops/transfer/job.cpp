// SPDX-License-Identifier: Apache-2.0
// The job of a transfer: rotating buffers on both sides, every byte compared where it arrives.
#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "core/formulas.h"
#include "device/cpu/host_facts.h"
#include "gpubench/error.h"
#include "ops/support/operands.h"
#include "ops/transfer/bytes.h"
#include "ops/transfer/segments.h"
#include "ops/transfer/transfer.h"
#include "util/text.h"
#include "util/units.h"

namespace gpubench {
namespace {

constexpr std::uint64_t kAlignment = 256;
constexpr std::uint32_t kAllBits = ~std::uint32_t{0};
/// Share of the host's free memory that a case may take.
constexpr double kHostShare = 0.8;

std::uint64_t stride_of(std::uint64_t bytes) {
  return checked_add({bytes, kAlignment - 1}) / kAlignment * kAlignment;
}

/// Of one way on one side: every set, and the spoilt bytes behind them.
std::uint64_t arena_bytes(const DeviceInfo& device, CacheMode cache, std::uint64_t bytes) {
  const std::uint64_t stride = stride_of(bytes);
  return checked_add({checked_mul({rotation_sets(device, cache, stride), stride}), kSpoiltBytes});
}

std::string numa_text(const std::optional<int>& wanted, const std::optional<int>& found) {
  if (!found) return "NUMA node unknown";
  if (!wanted || *wanted == *found) return fmt::format("NUMA node {}", *found);
  return fmt::format("NUMA node {} instead of {}", *found, *wanted);
}

class TransferJob : public Job {
 public:
  TransferJob(Context& context, const TransferProblem& problem, std::unique_ptr<TransferLink> link,
              std::optional<int> wanted_node)
      : device_(context.device),
        problem_(problem),
        link_(std::move(link)),
        stride_(stride_of(problem.bytes)),
        sets_(rotation_sets(device_.info(), context.conditions.cache, stride_)) {
    const Conditions& conditions = context.conditions;
    const std::uint64_t arena = arena_bytes(device_.info(), conditions.cache, problem.bytes);
    for (const Way way : ways_of(problem.direction)) {
      Lane lane;
      lane.way = way;
      lane.pattern = byte_pattern(conditions.data, conditions.seed, lanes_.size());
      lane.segments = transfer_segments(problem.bytes, conditions.fault, lane.pattern);
      lane.device = Buffer(device_, arena);
      lane.host = link_->allocate_host(arena);
      fill_source(context.stream, lane);
      lanes_.push_back(std::move(lane));
    }
    context.stream.synchronize();
    describe(wanted_node);
  }

  void enqueue(Stream& stream, std::size_t iteration) override {
    const std::uint64_t offset = iteration % sets_ * stride_;
    const bool both = lanes_.size() > 1;
    if (both) link_->fork(stream);
    for (const Lane& lane : lanes_) {
      for (const Segment& segment : lane.segments) {
        const std::uint64_t from = segment.from_spoilt ? sets_ * stride_ : offset;
        link_->copy(stream, lane.way, target(lane) + offset + segment.to,
                    source(lane) + from + segment.from, segment.bytes);
      }
    }
    if (both) link_->join(stream);
  }

  Timing timing() const override { return Timing::stream; }
  std::size_t sets() const override { return sets_; }
  JobInfo info() const override { return info_; }

  Work work() const override {
    return transfer_work(problem_.direction != Direction::d2h, problem_.direction != Direction::h2d,
                         problem_.bytes);
  }

  Check verify(Stream& stream) override {
    Check check;
    check.passed = true;
    check.reference = "every byte, on the side where it arrives, with the bytes' generator";
    for (std::size_t set = 0; set < sets_; ++set) {
      for (const Lane& lane : lanes_) poison(stream, lane, set * stride_);
      stream.synchronize();
      enqueue(stream, set);
      stream.synchronize();
      for (const Lane& lane : lanes_) {
        const ByteDifference found = compare(stream, lane, set * stride_);
        check.error += static_cast<double>(found.bad);
        if (found.bad == 0 || !check.passed) continue;
        check.passed = false;
        check.detail =
            fmt::format("buffer set {} of {}, to the {}: {} of {} bytes wrong, the first at {}",
                        set, sets_, lane.way == Way::to_device ? "device" : "host", found.bad,
                        problem_.bytes, found.first_bad);
      }
    }
    return check;
  }

 private:
  struct Lane {
    Way way = Way::to_device;
    BytePattern pattern;
    std::vector<Segment> segments;
    Buffer device;
    std::byte* host = nullptr;  // the link's
  };

  static std::byte* source(const Lane& lane) {
    return lane.way == Way::to_device ? lane.host : lane.device.bytes();
  }
  static std::byte* target(const Lane& lane) {
    return lane.way == Way::to_device ? lane.device.bytes() : lane.host;
  }

  void fill_source(Stream& stream, const Lane& lane) {
    std::byte* const from = source(lane);
    std::byte* const spoilt = from + sets_ * stride_;
    if (lane.way == Way::to_host) {
      for (std::size_t set = 0; set < sets_; ++set) {
        link_->fill_device(stream, from + set * stride_, problem_.bytes, lane.pattern);
      }
      device_.fill_bytes(stream, spoilt, 0xFF, kSpoiltBytes);
      return;
    }
    fill_bytes(from, problem_.bytes, lane.pattern);
    for (std::size_t set = 1; set < sets_; ++set) {
      std::memcpy(from + set * stride_, from, problem_.bytes);
    }
    std::memset(spoilt, 0xFF, kSpoiltBytes);
  }

  /// Every byte of the target becomes a wrong one.
  void poison(Stream& stream, const Lane& lane, std::uint64_t offset) {
    BytePattern wrong = lane.pattern;
    wrong.flip = kAllBits;
    if (lane.way == Way::to_device) {
      link_->fill_device(stream, target(lane) + offset, problem_.bytes, wrong);
    } else {
      stream.synchronize();  // an earlier copy may still write here
      fill_bytes(target(lane) + offset, problem_.bytes, wrong);
    }
  }

  ByteDifference compare(Stream& stream, const Lane& lane, std::uint64_t offset) {
    const std::byte* const found = target(lane) + offset;
    return lane.way == Way::to_device
               ? link_->compare_device(stream, found, problem_.bytes, lane.pattern)
               : compare_bytes(found, problem_.bytes, lane.pattern);
  }

  void describe(const std::optional<int>& wanted_node) {
    const std::optional<int> found = link_->node();
    if (wanted_node && found && *wanted_node != *found) {
      if (problem_.numa == Numa::far) {
        throw Unsupported("E_NUMA", fmt::format("the system put the host's memory on NUMA node {} "
                                                "instead of the far one, {}",
                                                *found, *wanted_node));
      }
      info_.warnings.emplace_back("W_NUMA_ELSEWHERE");
    }
    info_.impl = link_->impl();
    info_.algorithm = link_->algorithm() + ", " + numa_text(wanted_node, found);
    for (const Lane& lane : lanes_) info_.memory_bytes += lane.device.size();
  }

  Device& device_;
  TransferProblem problem_;
  std::unique_ptr<TransferLink> link_;
  std::uint64_t stride_;
  std::size_t sets_;
  std::vector<Lane> lanes_;
  JobInfo info_;
};

}  // namespace

std::unique_ptr<Job> make_transfer_job(Context& context, const TransferProblem& problem,
                                       std::unique_ptr<TransferLink> link,
                                       std::optional<int> wanted_node) {
  return std::make_unique<TransferJob>(context, problem, std::move(link), wanted_node);
}

std::unique_ptr<Job> make_transfer_job(Context& context, const TransferProblem& problem) {
  const DeviceInfo& info = context.device.info();
  if (info.kind != DeviceKind::cuda) {
    throw Unsupported("E_UNSUPPORTED_DEVICE",
                      "needs a CUDA device: a copy within the host's memory is no transfer");
  }
  if (problem.direction == Direction::both && problem.memory == HostMemory::pageable) {
    throw Unsupported("E_UNSUPPORTED_MODE",
                      "copies of pageable memory wait in the calling thread, so the two directions "
                      "would run one after the other; host=pinned runs them at once");
  }
  const std::uint64_t need =
      checked_mul({arena_bytes(info, context.conditions.cache, problem.bytes),
                   ways_of(problem.direction).size()});
  const MemoryState host = host_memory();
  if (static_cast<double>(need) > kHostShare * static_cast<double>(host.free_bytes)) {
    throw Unsupported("E_OOM_PLANNED", fmt::format("needs {} of the host's memory; {} are free",
                                                   format_gib(need), format_gib(host.free_bytes)));
  }
#if GPUBENCH_HAS_CUDA
  const std::optional<int> node = host_node(problem.numa, info.pci_id);
  return make_transfer_job(context, problem, make_cuda_transfer_link(context.device, problem, node),
                           node);
#else
  throw Unsupported("E_NO_CUDA", "this build has no CUDA: build with a CUDA toolkit");
#endif
}

std::uint64_t transfer_footprint(const DeviceInfo& device, const Conditions& conditions,
                                 const TransferProblem& problem) {
  return checked_mul(
      {arena_bytes(device, conditions.cache, problem.bytes), ways_of(problem.direction).size()});
}

}  // namespace gpubench
