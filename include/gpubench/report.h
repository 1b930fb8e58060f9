// SPDX-License-Identifier: Apache-2.0
// Everything a run remembers. src/report writes and reads it as JSON "gpubench.report/1" (keys in
// configs/schema/report.schema.json); tables and comparisons take these structs, never text.
// nullopt is null in JSON: not known, not measured or not supported.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpubench/device_info.h"
#include "gpubench/error.h"
#include "gpubench/telemetry.h"
#include "gpubench/workload.h"

namespace gpubench {

enum class Status { ok, skipped, failed, wrong, timeout, not_run };
std::string_view to_string(Status status);
/// Of two runs of a case the one with the larger is the one to tell of; 0 is ok, the most is wrong.
int badness(Status status);

/// Raw samples of one case and why sampling stopped. Times are seconds per iteration.
struct Measurement {
  std::vector<double> samples_s;
  std::int64_t batch = 1;  ///< iterations per sample
  std::string kind;  ///< "stream", "graph" (one graph per sample), "host" (cpu), or by the host's
                     ///< clock "enqueue" (the calls alone) and "latency" (until the work is done)
  std::string stop;  ///< "noise", "plateau", "max_time", "max_samples", "interrupted"
  std::int64_t dropped = 0;       ///< samples the timer made unusable (zero, negative, NaN)
  double begin_s = 0, end_s = 0;  ///< steady_seconds() of first and last sample
  double warmup_s = 0;            ///< seconds of load before the first sample
  bool launch_bound = false;      ///< the device waited for the host's launches
  double timer_resolution_s = 0;  ///< smallest step seen between time stamps; 0: none was seen
  /// Set where cases were sampled in turn: seconds of each turn, the part that is dropped included.
  std::optional<double> block_s = {};
  /// First and last of each run of samples that were taken while the hardware slowed the device
  /// down; nullopt: not readable.
  std::optional<std::vector<std::pair<std::int64_t, std::int64_t>>> slowed = {};
};

/// Numbers derived from samples (src/core/statistics.h).
struct Stats {
  double median = 0, p05 = 0, p95 = 0, mean = 0;
  std::optional<double> stdev;  ///< nullopt below two samples
  std::optional<double> ci95_low,
      ci95_high;  ///< of the median, block bootstrap; nullopt below 3 samples
  std::int64_t n = 0;
  std::string stop;
};

struct Rate {
  std::optional<double> tflops, gb_per_s, items_per_s, algbw_gb_per_s, busbw_gb_per_s;
};

struct Peak {
  std::string dtype;                           ///< the peak compared with; empty: null
  std::optional<double> datasheet_pct;         ///< of the published dense peak
  std::optional<double> at_clock_pct;          ///< of SMs x FLOP/clk/SM x clock_mhz
  std::optional<double> memory_pct;            ///< of the published memory bandwidth
  std::optional<double> of_measured_roof_pct;  ///< analysis/measured_roof.h
  std::string bound;                ///< "compute", "memory", "link", or empty where unknown
  std::optional<double> link_pct;   ///< of the published bandwidth of the link, each direction
  std::optional<double> clock_mhz;  ///< SM clock while measuring
  std::string clock_source;  ///< "nvml" (median of readings) or "cycles" (counted on the device)
};

/// Several runs of one case, each in a process of its own (--repeat).
struct Repeats {
  std::vector<double> medians_s;  ///< in the order of the runs
};

struct Result {
  std::string id;
  std::string workload;
  std::map<std::string, std::string> params;
  int device = 0;  ///< index into Report::devices
  std::string impl, algorithm, compute_type;
  bool emulated = false;
  Status status = Status::not_run;
  Reason reason;                      ///< for every status but ok
  std::vector<std::string> warnings;  ///< codes
  std::vector<std::string> remarks;   ///< plain words: why a number is low
  std::string reproduce;              ///< a command line
  std::string cache, data_dist, mode;
  std::uint64_t data_seed = 0;
  std::optional<Measurement> measurement;
  std::optional<Check> check;
  std::optional<Work> work;
  std::optional<std::uint64_t> peak_memory_bytes, workspace_bytes;
  std::optional<Stats> time_s;
  std::optional<Repeats> repeats;
  Rate rate;
  Peak peak;
  std::optional<Telemetry> telemetry;
};

struct LibraryVersion {
  std::string version;  ///< empty: not loaded
  std::string path;
};

struct ReportDevice {
  DeviceInfo info;
  DeviceMatch match;
};

struct SuiteInfo {
  std::string name;                      ///< empty: cases given on the command line
  std::string sha256;                    ///< of the suite file's bytes
  std::map<std::string, double> policy;  ///< warmup_s, min_time_s, max_time_s, max_noise, ...
};

struct BuildInfo {
  std::string version, git, binary_sha256, cuda, compiler;
  std::vector<std::string> archs;
};

struct HostInfo {
  std::string name, cpu, os;
  int cores = 0;
  std::uint64_t memory_bytes = 0;
};

/// Two cases set against each other; ratio = time of b / time of a: above 1, a is faster.
struct Comparison {
  std::string a, b;
  int device = 0;
  double ratio = 0;
  std::optional<double> ci95_low, ci95_high;
  std::string verdict;
};

struct Summary {
  int ok = 0, skipped = 0, failed = 0, wrong = 0, timeout = 0, not_run = 0;
  double wall_s = 0;
};

struct Report {
  std::string created;  ///< ISO 8601, UTC
  bool complete = false;
  std::vector<std::string> command;
  BuildInfo gpubench;
  HostInfo host;
  std::map<std::string, LibraryVersion>
      libraries;  ///< driver libcuda cudart cublaslt cudnn nccl nvml cblas
  int world_size = 1, world_nodes = 1;
  std::map<std::string, std::string> environment;  ///< allow-listed variables only
  std::vector<ReportDevice> devices;
  SuiteInfo suite;
  std::vector<Result> results;
  std::vector<Comparison> comparisons;
  std::optional<Summary> summary;
};

}  // namespace gpubench
