// SPDX-License-Identifier: Apache-2.0
// A device that computes, behind one interface for CUDA GPUs and the host processor.
// All sizes are bytes. Everything throws DeviceError; destructors never throw.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "gpubench/device_info.h"

namespace gpubench {

/// An ordered queue of work. On the cpu device work has ended when the enqueueing call returns.
class Stream {
 public:
  virtual ~Stream() = default;
  /// True when all work so far is done. Throws if it failed.
  virtual bool idle() = 0;
  /// Polls until idle. Throws if the work failed.
  virtual void synchronize() = 0;
  /// The cudaStream_t; nullptr on the cpu device.
  virtual void* native() const = 0;
};

/// A time stamp in a stream.
class Event {
 public:
  virtual ~Event() = default;
  virtual void record(Stream& stream) = 0;
  /// True when the stream has passed the event. Throws if the work before it failed.
  virtual bool done() = 0;
  /// Seconds from `earlier` to this one; both done. May be 0 or (faulty timers) negative.
  virtual double seconds_since(const Event& earlier) const = 0;
};

/// Captured work that is launched as one.
class Graph {
 public:
  virtual ~Graph() = default;
  virtual void launch(Stream& stream) = 0;
};

struct MemoryState {
  std::uint64_t free_bytes = 0;
  std::uint64_t total_bytes = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;
  /// Makes this device current for the calling thread.
  virtual void activate() = 0;
  virtual std::unique_ptr<Stream> make_stream() = 0;
  virtual std::unique_ptr<Event> make_event() = 0;
  /// Records what `enqueue` puts into `stream`; nullptr where the device has no graphs.
  virtual std::unique_ptr<Graph> capture(Stream& stream, const std::function<void()>& enqueue) = 0;
  /// At least 256-byte aligned. Throws DeviceError E_OOM (the device stays usable).
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;
  /// Ordered in the stream; the host side may be pageable, and may be reused on return.
  virtual void copy_to_device(Stream& stream, void* to, const void* from, std::size_t bytes) = 0;
  /// Complete on return.
  virtual void copy_to_host(Stream& stream, void* to, const void* from, std::size_t bytes) = 0;
  /// Ordered in the stream, does not wait.
  virtual void copy_on_device(Stream& stream, void* to, const void* from, std::size_t bytes) = 0;
  virtual void fill_bytes(Stream& stream, void* to, int byte, std::size_t bytes) = 0;
  virtual MemoryState memory() = 0;
  /// After an error: clears it and returns true if the device can go on (false: lost for this
  /// process).
  virtual bool recover() noexcept = 0;
  /// What is enqueued up to end_profile() is for a profiler: between its start and stop, in a range
  /// of that name. Nothing on a device that no profiler knows.
  virtual void begin_profile(const std::string& name) { static_cast<void>(name); }
  virtual void end_profile() {}
};

/// Owned device memory.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Device& device, std::size_t bytes)
      : device_(&device), data_(device.allocate(bytes)), bytes_(bytes) {}
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Buffer() {
    if (data_ != nullptr) device_->release(data_);
  }

  void* data() const { return data_; }
  std::byte* bytes() const { return static_cast<std::byte*>(data_); }
  std::size_t size() const { return bytes_; }

 private:
  Device* device_ = nullptr;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace gpubench
