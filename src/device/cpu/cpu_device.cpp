// SPDX-License-Identifier: Apache-2.0
// The host processor as a device: work is done when the enqueueing call returns.
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "device/cpu/host_facts.h"
#include "device/devices.h"
#include "gpubench/error.h"
#include "util/text.h"

namespace gpubench {
namespace {

constexpr std::size_t kAlignment = 256;
constexpr std::size_t kPageBytes = 4096;  // smallest page of any Linux; larger ones are fine too
constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;
/// Left to the rest of the process and of the machine.
constexpr std::uint64_t kHeadroomBytes = std::uint64_t{64} << 20;

class CpuStream : public Stream {
 public:
  bool idle() override { return true; }
  void synchronize() override {}
  void* native() const override { return nullptr; }
};

class CpuEvent : public Event {
 public:
  void record(Stream&) override { time_ = std::chrono::steady_clock::now(); }
  bool done() override { return true; }
  double seconds_since(const Event& earlier) const override {
    const auto* other = dynamic_cast<const CpuEvent*>(&earlier);
    if (other == nullptr) throw DeviceError("E_DEVICE", "events of two kinds of device were mixed");
    return std::chrono::duration<double>(time_ - other->time_).count();
  }

 private:
  std::chrono::steady_clock::time_point time_{};
};

class CpuDevice : public Device {
 public:
  CpuDevice() : info_(cpu_device_info()) {}
  const DeviceInfo& info() const override { return info_; }
  void activate() override {}
  std::unique_ptr<Stream> make_stream() override { return std::make_unique<CpuStream>(); }
  std::unique_ptr<Event> make_event() override { return std::make_unique<CpuEvent>(); }
  std::unique_ptr<Graph> capture(Stream&, const std::function<void()>&) override { return nullptr; }

  void* allocate(std::size_t bytes) override {
    const MemoryState state = memory();
    const auto out_of_memory = [&] {
      return DeviceError("E_OOM",
                         fmt::format("{} of memory are needed, {} of {} are free; choose smaller "
                                     "sizes, or end other processes",
                                     format_gib(bytes), format_gib(state.free_bytes),
                                     format_gib(state.total_bytes)));
    };
    if (bytes > state.free_bytes) throw out_of_memory();
    const std::size_t alignment = bytes < kHugePageBytes ? kAlignment : kHugePageBytes;
    const std::size_t rounded =
        (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
    void* memory = std::aligned_alloc(alignment, rounded);
    if (memory == nullptr) throw out_of_memory();
    // Small pages would measure page tables: a GPU's pages are of 2 MiB too. Only advice.
    if (alignment == kHugePageBytes) ::madvise(memory, rounded, MADV_HUGEPAGE);
    // Linux hands out memory when it is touched. Touching it now keeps the next check honest and
    // page faults out of the first iteration.
    auto* pages = static_cast<volatile char*>(memory);
    for (std::size_t offset = 0; offset < rounded; offset += kPageBytes) pages[offset] = 0;
    return memory;
  }
  void release(void* memory) noexcept override { std::free(memory); }

  void copy_to_device(Stream&, void* to, const void* from, std::size_t bytes) override {
    copy(to, from, bytes);
  }
  void copy_to_host(Stream&, void* to, const void* from, std::size_t bytes) override {
    copy(to, from, bytes);
  }
  void copy_on_device(Stream&, void* to, const void* from, std::size_t bytes) override {
    copy(to, from, bytes);
  }
  void fill_bytes(Stream&, void* to, int byte, std::size_t bytes) override {
    if (bytes > 0) std::memset(to, byte, bytes);
  }

  MemoryState memory() override {
    MemoryState state = host_memory();
    state.free_bytes -= std::min(state.free_bytes, kHeadroomBytes);
    return state;
  }
  bool recover() noexcept override { return true; }

 private:
  static void copy(void* to, const void* from, std::size_t bytes) {
    if (bytes > 0) std::memmove(to, from, bytes);
  }

  DeviceInfo info_;
};

}  // namespace

DeviceInfo cpu_device_info() {
  DeviceInfo info;
  info.kind = DeviceKind::cpu;
  info.name = processor_name();
  info.sm_count = usable_threads();
  info.memory_bytes = host_memory().total_bytes;
  info.l2_bytes = last_level_cache_bytes();
  return info;
}

std::unique_ptr<Device> make_cpu_device() { return std::make_unique<CpuDevice>(); }

}  // namespace gpubench
