// SPDX-License-Identifier: Apache-2.0
// The contract a workload's author reads: register a workload, return a Job that enqueues.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "gpubench/device.h"
#include "gpubench/error.h"
#include "gpubench/params.h"

namespace gpubench {

class Libraries;  // src/libs: NVIDIA's and the CPU math library, loaded on first use
class World;      // gpubench/world.h

/// What one iteration does, by a named rule (src/core/formulas.h).
struct Work {
  double flops = 0;
  double bytes = 0;  ///< least traffic to memory: each operand once
  double items = 0;
  std::string item_name = {};
  std::string flop_rule = {};  ///< "gemm:2mnk"; empty where flops is 0
  /// What the bytes cross: "memory"; "l2", whose peak nobody publishes; "pcie", or "pcie_duplex"
  /// where half of them go each way at the same time.
  std::string bytes_over = "memory";
  double message_bytes = 0;  ///< of a collective: the S of algorithm bandwidth S / t
  /// Bus bandwidth / algorithm bandwidth; nullopt where no data leaves the device.
  std::optional<double> bus_factor = {};
};

/// Outcome of comparing outputs with an independent reference. NaN never passes.
struct Check {
  bool passed = false;
  double error = 0;  ///< largest |out - ref| / (|ref| + rms(ref, by row for attention)); non-finite
                     ///< is null in JSON
  double tolerance = 0;        ///< what `error` had to stay at or below
  std::string reference = {};  ///< how the reference was computed
  std::string detail = {};     ///< on failure: what was wrong and where
};

enum class DataDist { normal, uniform, zeros, ones };
enum class CacheMode { cold, hot };
/// Under steady load, or each sample after a rest: before power and heat lower the clock.
enum class LoadMode { sustained, burst };
/// How the sampler times a job.
enum class Timing {
  queued,   ///< by events in a chain of batches queued ahead; what is short becomes a graph
  stream,   ///< as `queued`, but never as a graph: the calls made by `enqueue` are what is measured
  enqueue,  ///< by the host's clock over the calls alone, made while the device has nothing to do
  latency,  ///< by the host's clock from the call until the host sees the work done
};
/// Planted faults for testing the checks (environment variable GPUBENCH_FAULT).
enum class Fault { none, wrong_element, unwritten_tile, swapped_operands, nan, rare_bits };

/// Measuring conditions that apply to every case of a run.
struct Conditions {
  DataDist data = DataDist::normal;
  std::uint64_t seed = 1;
  CacheMode cache = CacheMode::cold;
  LoadMode mode = LoadMode::sustained;
  bool at_once = false;  ///< on every device of the run at the same time
  bool burn = false;     ///< every iteration's outputs are compared bit by bit with the first's
  double memory_reserve = 0.10;  ///< share of the device's memory that is kept free
  Fault fault = Fault::none;
};

/// What a job is prepared with. Outlives the job.
struct Context {
  Device& device;
  Stream& stream;
  Libraries& libraries;
  const Conditions& conditions;
  World* world = nullptr;     ///< the ranks that run this case together; only collectives need it
  std::stop_token stop = {};  ///< asked between the steps of what takes long: see end_if_stopped
};

/// Throws Error E_INTERRUPTED where the case was asked to end (Ctrl-C, --timeout).
inline void end_if_stopped(const std::stop_token& stop) {
  if (stop.stop_requested()) throw Error("E_INTERRUPTED", "asked to end");
}

/// What was chosen for a case, for the report.
struct JobInfo {
  std::string impl;               ///< provider that runs: "cublaslt", "cudnn", "own", "cpu"
  std::string algorithm = {};     ///< the library's algorithm or plan, as a short text
  std::string compute_type = {};  ///< "fp32", "tf32", ...: what the arithmetic is done in
  bool emulated = false;  ///< operands rounded to the type, computed in another: no percentages
  std::string peak_dtype = {};  ///< key into dense_tflops; empty: no compute percentage
  std::uint64_t memory_bytes = 0;
  std::uint64_t workspace_bytes = 0;
  std::vector<std::string> warnings = {};  ///< codes such as W_CACHE_RESIDENT
  std::string cache = {};  ///< "hot" or "cold" where the workload decides it, not the conditions
};

/// Where an output of a job lies on the device.
struct OutputView {
  const void* data;
  std::uint64_t bytes;
};

/// One prepared case. The constructor allocates, fills and plans; the destructor frees.
class Job {
 public:
  virtual ~Job() = default;
  /// One iteration; never synchronises, allocates or prints. `iteration % sets()` picks the
  /// buffers.
  virtual void enqueue(Stream& stream, std::size_t iteration) = 0;
  virtual Timing timing() const { return Timing::queued; }
  /// The SM clock over the last iterations, where the job's kernels read the counters themselves.
  virtual std::optional<double> measured_clock_mhz(Stream& stream) {
    static_cast<void>(stream);
    return std::nullopt;
  }
  /// Buffer sets that `iteration` rotates through, for a cold cache.
  virtual std::size_t sets() const { return 1; }
  virtual Work work() const = 0;
  virtual JobInfo info() const = 0;
  /// Poisons the outputs of every set, runs each set once and compares with the reference.
  virtual Check verify(Stream& stream) = 0;
  /// What is known to have gone wrong while the job runs, or empty; looked up in another stream
  /// than the one at work.
  virtual std::string complaint(Stream& side_stream) {
    static_cast<void>(side_stream);
    return {};
  }
  /// The outputs of a buffer set. Empty: not to be had.
  virtual std::vector<OutputView> outputs(std::size_t set) const {
    static_cast<void>(set);
    return {};
  }
};

/// A workload; namespace-scope objects of this type in workloads/**.cpp register it. Registration
/// only stores data: nothing of CUDA runs before main.
struct WorkloadInfo {
  std::string name;     ///< path below workloads/ without the suffix: "ops/gemm"
  std::string summary;  ///< one line
  std::vector<ParamSpec> params = {};
  /// Bytes of device memory that `prepare` will allocate, from plain data; throws ConfigError where
  /// a size overflows. Lets a case that can't fit be skipped before anything is allocated.
  std::function<std::uint64_t(const DeviceInfo&, const Conditions&, const Params&)> footprint = {};
  /// Throws Unsupported where this device, library or shape can't do it.
  std::function<std::unique_ptr<Job>(Context&, const Params&)> prepare = {};
};

class Registration {
 public:
  explicit Registration(WorkloadInfo info);
};

/// All registered workloads by name.
const std::vector<const WorkloadInfo*>& workloads();
/// Throws ConfigError with the nearest name.
const WorkloadInfo& find_workload(const std::string& name);

}  // namespace gpubench
