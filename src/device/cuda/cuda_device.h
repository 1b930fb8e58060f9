// SPDX-License-Identifier: Apache-2.0
// Device over the CUDA runtime. A DeviceInfo is read once, when the device is opened.
#pragma once

#include <memory>

#include "device/cuda/cuda_stream.h"
#include "gpubench/device.h"

namespace gpubench {

/// What the CUDA runtime knows of a GPU; makes no context.
DeviceInfo read_cuda_device_info(int ordinal);

class CudaDevice : public Device {
 public:
  explicit CudaDevice(int ordinal);
  const DeviceInfo& info() const override { return info_; }
  void activate() override;
  std::unique_ptr<Stream> make_stream() override;
  std::unique_ptr<Event> make_event() override;
  std::unique_ptr<Graph> capture(Stream& stream, const std::function<void()>& enqueue) override;
  void* allocate(std::size_t bytes) override;
  void release(void* memory) noexcept override;
  void copy_to_device(Stream& stream, void* to, const void* from, std::size_t bytes) override;
  void copy_to_host(Stream& stream, void* to, const void* from, std::size_t bytes) override;
  void copy_on_device(Stream& stream, void* to, const void* from, std::size_t bytes) override;
  void fill_bytes(Stream& stream, void* to, int byte, std::size_t bytes) override;
  MemoryState memory() override;
  bool recover() noexcept override;
  void begin_profile(const std::string& name) override;
  void end_profile() override;

 private:
  DeviceInfo info_;
  std::shared_ptr<CudaStreamList> streams_ = std::make_shared<CudaStreamList>();
};

}  // namespace gpubench
