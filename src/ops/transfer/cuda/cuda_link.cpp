// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <utility>
#include <vector>

#include "device/cpu/numa.h"
#include "device/cuda/check.h"
#include "device/cuda/cuda_stream.h"
#include "gpubench/error.h"
#include "kernels/transfer/transfer.h"
#include "ops/transfer/transfer.h"

namespace gpubench {
namespace {

/// Orders streams; without a time stamp, which would cost more.
class OrderEvent {
 public:
  OrderEvent() { check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
  ~OrderEvent() { static_cast<void>(cudaEventDestroy(event_)); }
  OrderEvent(const OrderEvent&) = delete;
  OrderEvent& operator=(const OrderEvent&) = delete;

  /// What comes into `later` waits for what is in `earlier`.
  void order(cudaStream_t earlier, cudaStream_t later) {
    check(cudaEventRecord(event_, earlier));
    check(cudaStreamWaitEvent(later, event_, 0));
  }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Host memory that the GPU may reach: pages on the chosen node made known to CUDA, or where that
/// is refused memory of CUDA's own.
class HostArena {
 public:
  HostArena(std::size_t bytes, HostMemory kind, std::optional<int> node) {
    pages_ = std::make_unique<HostPages>(bytes, node);
    if (kind == HostMemory::pageable) return;
    constexpr unsigned kFlags = cudaHostRegisterPortable | cudaHostRegisterMapped;
    const cudaError_t status = cudaHostRegister(pages_->data(), pages_->size(), kFlags);
    if (status == cudaSuccess) {
      const cudaError_t mapped = cudaHostGetDevicePointer(&on_device_, pages_->data(), 0);
      if (mapped != cudaSuccess) {
        static_cast<void>(cudaHostUnregister(pages_->data()));
        check(mapped);
      }
      registered_ = true;
      return;
    }
    if (is_sticky(status)) check(status);
    static_cast<void>(cudaGetLastError());
    pages_.reset();
    const ThreadOnNode there(node);
    check(cudaHostAlloc(&allocated_, bytes, cudaHostAllocPortable | cudaHostAllocMapped));
    const cudaError_t mapped = cudaHostGetDevicePointer(&on_device_, allocated_, 0);
    if (mapped != cudaSuccess) {
      static_cast<void>(cudaFreeHost(allocated_));
      check(mapped);
    }
  }
  ~HostArena() {
    if (registered_) static_cast<void>(cudaHostUnregister(pages_->data()));
    if (allocated_ != nullptr) static_cast<void>(cudaFreeHost(allocated_));
  }
  HostArena(const HostArena&) = delete;
  HostArena& operator=(const HostArena&) = delete;

  std::byte* data() const {
    return allocated_ != nullptr ? static_cast<std::byte*>(allocated_) : pages_->data();
  }
  /// The difference between a host address and the device's name for it.
  std::byte* on_device(const std::byte* host) const {
    return static_cast<std::byte*>(on_device_) + (host - data());
  }
  /// CUDA's own memory is mapped by the driver: its node is not known.
  std::optional<int> node() const { return pages_ ? pages_->node() : std::nullopt; }
  bool own_pages() const { return pages_ != nullptr; }

 private:
  std::unique_ptr<HostPages> pages_;
  bool registered_ = false;
  void* allocated_ = nullptr;
  void* on_device_ = nullptr;
};

class CudaTransferLink : public TransferLink {
 public:
  CudaTransferLink(Device& device, const TransferProblem& problem, std::optional<int> node)
      : device_(device),
        problem_(problem),
        node_(node),
        // The thread that copies pageable memory to the driver's buffers belongs beside it.
        thread_(problem.memory == HostMemory::pageable ? node : std::nullopt),
        side_(device.make_stream()),
        difference_(device, sizeof(ByteDifference)) {}

  ~CudaTransferLink() override {
    // Pages must not go while a copy that was interrupted still uses them.
    static_cast<void>(cudaDeviceSynchronize());
  }

  std::byte* allocate_host(std::size_t bytes) override {
    device_.activate();
    arenas_.push_back(std::make_unique<HostArena>(bytes, problem_.memory, node_));
    return arenas_.back()->data();
  }

  std::optional<int> node() const override {
    return arenas_.empty() ? std::nullopt : arenas_.front()->node();
  }

  std::string impl() const override {
    return problem_.memory == HostMemory::zero_copy ? "own" : "copy_engine";
  }

  std::string algorithm() const override {
    if (problem_.memory == HostMemory::pageable) return "cudaMemcpyAsync, pageable memory";
    const bool own_pages = arenas_.empty() || arenas_.front()->own_pages();
    return std::string(problem_.memory == HostMemory::zero_copy ? "kernel" : "cudaMemcpyAsync") +
           (own_pages ? ", registered memory" : ", cudaHostAlloc memory");
  }

  void fork(Stream& stream) override { fork_.order(native(stream), native(*side_)); }
  void join(Stream& stream) override { join_.order(native(*side_), native(stream)); }

  void copy(Stream& stream, Way way, std::byte* to, const std::byte* from,
            std::size_t bytes) override {
    const bool beside = problem_.direction == Direction::both && way == Way::to_host;
    const cudaStream_t queue = beside ? native(*side_) : native(stream);
    if (problem_.memory != HostMemory::zero_copy) {
      check(cudaMemcpyAsync(to, from, bytes,
                            way == Way::to_device ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost,
                            queue));
      return;
    }
    const HostArena& arena = arena_of(way);
    // A block per SM leaves room for the other direction's, and is far more than the link needs.
    const auto blocks = static_cast<unsigned>(device_.info().sm_count);
    if (way == Way::to_device) {
      launch_mapped_copy(queue, to, arena.on_device(from), bytes, blocks);
    } else {
      launch_mapped_copy(queue, arena.on_device(to), from, bytes, blocks);
    }
  }

  void fill_device(Stream& stream, std::byte* to, std::uint64_t bytes,
                   const BytePattern& pattern) override {
    launch_pattern_fill(stream.native(), to, bytes, pattern);
  }

  ByteDifference compare_device(Stream& stream, const std::byte* found, std::uint64_t bytes,
                                const BytePattern& pattern) override {
    launch_pattern_compare(stream.native(), found, bytes, pattern,
                           static_cast<ByteDifference*>(difference_.data()));
    ByteDifference result;
    device_.copy_to_host(stream, &result, difference_.data(), sizeof(result));
    return result;
  }

 private:
  /// Arenas were allocated in the order of ways_of().
  const HostArena& arena_of(Way way) const {
    const bool second = problem_.direction == Direction::both && way == Way::to_host;
    return *arenas_[second ? 1 : 0];
  }

  Device& device_;
  TransferProblem problem_;
  std::optional<int> node_;
  ThreadOnNode thread_;
  std::unique_ptr<Stream> side_;
  Buffer difference_;
  OrderEvent fork_, join_;
  std::vector<std::unique_ptr<HostArena>> arenas_;
};

}  // namespace

std::unique_ptr<TransferLink> make_cuda_transfer_link(Device& device,
                                                      const TransferProblem& problem,
                                                      std::optional<int> node) {
  device.activate();
  return std::make_unique<CudaTransferLink>(device, problem, node);
}

}  // namespace gpubench
