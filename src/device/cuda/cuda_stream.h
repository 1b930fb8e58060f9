// SPDX-License-Identifier: Apache-2.0
// Stream, Event and Graph over the CUDA runtime.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <mutex>
#include <vector>

#include "gpubench/device.h"

namespace gpubench {

/// The live streams of a device, so that recovery can see whether one of them hangs.
class CudaStreamList {
 public:
  void add(cudaStream_t stream);
  void remove(cudaStream_t stream) noexcept;
  std::vector<cudaStream_t> streams() const;

 private:
  mutable std::mutex mutex_;
  std::vector<cudaStream_t> streams_;
};

/// A non-blocking stream: it does not wait for the default stream.
class CudaStream : public Stream {
 public:
  explicit CudaStream(std::shared_ptr<CudaStreamList> list);
  ~CudaStream() override;
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  bool idle() override;
  void synchronize() override;
  void* native() const override { return stream_; }

 private:
  std::shared_ptr<CudaStreamList> list_;
  cudaStream_t stream_ = nullptr;
};

cudaStream_t native(const Stream& stream);

class CudaEvent : public Event {
 public:
  CudaEvent();
  ~CudaEvent() override;
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  void record(Stream& stream) override;
  bool done() override;
  double seconds_since(const Event& earlier) const override;

 private:
  cudaEvent_t event_ = nullptr;
};

class CudaGraph : public Graph {
 public:
  /// Instantiates `graph` (which it owns from now on) and uploads it to the stream's device.
  CudaGraph(cudaGraph_t graph, cudaStream_t stream);
  ~CudaGraph() override;
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;
  void launch(Stream& stream) override;

 private:
  cudaGraphExec_t exec_ = nullptr;
};

/// Captures what `enqueue` puts into the stream. Whatever is thrown, the capture is ended.
std::unique_ptr<Graph> capture_graph(Stream& stream, const std::function<void()>& enqueue);

}  // namespace gpubench
