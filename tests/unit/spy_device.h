// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "device/devices.h"

namespace gpubench {

/// A cpu device that remembers what it allocated last, and may say it had another cache.
class SpyDevice : public Device {
 public:
  explicit SpyDevice(std::uint64_t l2_bytes = 0) : info_(cpu_->info()) {
    if (l2_bytes != 0) info_.l2_bytes = l2_bytes;
  }
  void* last() const { return last_; }
  const DeviceInfo& info() const override { return info_; }
  void activate() override {}
  std::unique_ptr<Stream> make_stream() override { return cpu_->make_stream(); }
  std::unique_ptr<Event> make_event() override { return cpu_->make_event(); }
  std::unique_ptr<Graph> capture(Stream&, const std::function<void()>&) override { return nullptr; }
  void* allocate(std::size_t bytes) override { return last_ = cpu_->allocate(bytes); }
  void release(void* memory) noexcept override { cpu_->release(memory); }
  void copy_to_device(Stream& stream, void* to, const void* from, std::size_t bytes) override {
    cpu_->copy_to_device(stream, to, from, bytes);
  }
  void copy_to_host(Stream& stream, void* to, const void* from, std::size_t bytes) override {
    cpu_->copy_to_host(stream, to, from, bytes);
  }
  void copy_on_device(Stream& stream, void* to, const void* from, std::size_t bytes) override {
    cpu_->copy_on_device(stream, to, from, bytes);
  }
  void fill_bytes(Stream& stream, void* to, int byte, std::size_t bytes) override {
    cpu_->fill_bytes(stream, to, byte, bytes);
  }
  MemoryState memory() override { return cpu_->memory(); }
  bool recover() noexcept override { return true; }

 private:
  std::unique_ptr<Device> cpu_ = make_cpu_device();
  DeviceInfo info_;
  void* last_ = nullptr;
};

}  // namespace gpubench
