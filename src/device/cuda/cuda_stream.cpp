// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/cuda_stream.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "device/cuda/check.h"
#include "gpubench/error.h"

namespace gpubench {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

// Short waits are spun for latency; long ones must not cost a core.
constexpr microseconds kSpin{50};
constexpr microseconds kYield{500};
constexpr microseconds kSleep{50};

/// True for success, false for not ready; throws for the rest.
bool ready(cudaError_t status) {
  if (status == cudaErrorNotReady) {
    // It is remembered like an error, and would be blamed on the next launch.
    static_cast<void>(cudaGetLastError());
    return false;
  }
  check(status);
  return true;
}

}  // namespace

void CudaStreamList::add(cudaStream_t stream) {
  const std::lock_guard lock(mutex_);
  streams_.push_back(stream);
}

void CudaStreamList::remove(cudaStream_t stream) noexcept {
  const std::lock_guard lock(mutex_);
  streams_.erase(std::remove(streams_.begin(), streams_.end(), stream), streams_.end());
}

std::vector<cudaStream_t> CudaStreamList::streams() const {
  const std::lock_guard lock(mutex_);
  return streams_;
}

CudaStream::CudaStream(std::shared_ptr<CudaStreamList> list) : list_(std::move(list)) {
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  list_->add(stream_);
}

CudaStream::~CudaStream() {
  list_->remove(stream_);
  static_cast<void>(cudaStreamDestroy(stream_));
}

bool CudaStream::idle() { return ready(cudaStreamQuery(stream_)); }

void CudaStream::synchronize() {
  const auto start = Clock::now();
  while (!idle()) {
    const auto waited = Clock::now() - start;
    if (waited < kSpin) continue;
    if (waited < kYield) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kSleep);
    }
  }
}

cudaStream_t native(const Stream& stream) { return static_cast<cudaStream_t>(stream.native()); }

CudaEvent::CudaEvent() { check(cudaEventCreate(&event_)); }

CudaEvent::~CudaEvent() { static_cast<void>(cudaEventDestroy(event_)); }

void CudaEvent::record(Stream& stream) { check(cudaEventRecord(event_, native(stream))); }

bool CudaEvent::done() { return ready(cudaEventQuery(event_)); }

double CudaEvent::seconds_since(const Event& earlier) const {
  const auto* other = dynamic_cast<const CudaEvent*>(&earlier);
  if (other == nullptr) throw DeviceError("E_CUDA", "events of two kinds of device were mixed");
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, other->event_, event_));
  return double{milliseconds} * 1e-3;
}

CudaGraph::CudaGraph(cudaGraph_t graph, cudaStream_t stream) {
  const cudaError_t made = cudaGraphInstantiate(&exec_, graph, 0);
  static_cast<void>(cudaGraphDestroy(graph));
  check(made);
  // Without the upload the first launch pays for it, and would be an outlier.
  const cudaError_t uploaded = cudaGraphUpload(exec_, stream);
  if (uploaded != cudaSuccess) {
    static_cast<void>(cudaGraphExecDestroy(exec_));
    check(uploaded);
  }
}

CudaGraph::~CudaGraph() { static_cast<void>(cudaGraphExecDestroy(exec_)); }

void CudaGraph::launch(Stream& stream) { check(cudaGraphLaunch(exec_, native(stream))); }

std::unique_ptr<Graph> capture_graph(Stream& stream, const std::function<void()>& enqueue) {
  const cudaStream_t handle = native(stream);
  cudaGraph_t graph = nullptr;
  // Thread-local: calls of other threads (telemetry, another device) can't spoil the capture.
  check(cudaStreamBeginCapture(handle, cudaStreamCaptureModeThreadLocal));
  try {
    enqueue();
  } catch (...) {
    static_cast<void>(cudaStreamEndCapture(handle, &graph));
    if (graph != nullptr) static_cast<void>(cudaGraphDestroy(graph));
    static_cast<void>(cudaGetLastError());
    throw;
  }
  const cudaError_t ended = cudaStreamEndCapture(handle, &graph);
  if (ended != cudaSuccess && graph != nullptr) static_cast<void>(cudaGraphDestroy(graph));
  check(ended);
  return std::make_unique<CudaGraph>(graph, handle);
}

}  // namespace gpubench
