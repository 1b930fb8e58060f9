// SPDX-License-Identifier: Apache-2.0
#include "app/case_runner.h"

#include <fmt/format.h>

#include <exception>
#include <new>
#include <utility>

#include "analysis/derive.h"
#include "analysis/environment.h"
#include "analysis/remarks.h"
#include "gpubench/error.h"
#include "measure/sampler.h"
#include "util/text.h"

namespace gpubench {
namespace {

std::string device_word(const DeviceInfo& info) {
  return info.kind == DeviceKind::cpu ? "cpu" : std::to_string(info.index);
}

/// The command that measures the case again, with every condition that is not the default.
std::string reproduce_command(const Case& work, const std::string& device) {
  std::string command = "gpubench run " + work.workload->name;
  for (const ParamSpec& spec : work.workload->params) {
    const std::string& value = work.params.text(spec.name);
    if (value != spec.default_value) command += " " + spec.name + "=" + value;
  }
  const Conditions defaults;
  const Conditions& conditions = work.conditions;
  command += " --device " + device;
  if (conditions.data != defaults.data)
    command += " --data " + std::string(to_string(conditions.data));
  if (conditions.seed != defaults.seed) command += " --seed " + std::to_string(conditions.seed);
  if (conditions.cache != defaults.cache)
    command += " --cache " + std::string(to_string(conditions.cache));
  return command;
}

/// The first check is kept unless the one after measuring is worse.
void merge_check(Result& result, const Check& check) {
  if (!result.check || !check.passed || !(check.error <= result.check->error)) result.check = check;
}

void fail_check(Result& result, const std::string& when) {
  result.status = Status::wrong;
  result.reason = {
      "E_WRONG_RESULT",
      fmt::format("{}: error {:.3g} above {:.3g} against {}{}{}", when, result.check->error,
                  result.check->tolerance, result.check->reference,
                  result.check->detail.empty() ? "" : "; ", result.check->detail)};
}

}  // namespace

Result unrun_result(const Case& work, int device_index, const std::string& reproduce_device,
                    Reason reason) {
  Result result;
  result.id = work.id;
  result.workload = work.workload->name;
  result.params = work.params.values();
  result.device = device_index;
  result.status = Status::not_run;
  result.reason = std::move(reason);
  result.cache = to_string(work.conditions.cache);
  result.data_dist = to_string(work.conditions.data);
  result.data_seed = work.conditions.seed;
  result.mode = "sustained";
  result.reproduce = reproduce_command(work, reproduce_device);
  return result;
}

CaseRunner::CaseRunner(Setup setup, Progress& progress)
    : setup_(setup), progress_(progress), stream_(setup.device.make_stream()) {}

bool CaseRunner::stopped(Result& result) const {
  if (!stop_.stop_requested()) return false;
  result.reason = {"E_INTERRUPTED", "interrupted while this case was measured"};
  return true;
}

void CaseRunner::require_memory(const Case& work) {
  if (!work.workload->footprint) return;
  const std::uint64_t need =
      work.workload->footprint(setup_.device.info(), work.conditions, work.params);
  const MemoryState memory = setup_.device.memory();
  const double reserve = work.conditions.memory_reserve * double(memory.total_bytes);
  if (double(need) + reserve > double(memory.free_bytes)) {
    throw Unsupported(
        "E_OOM_PLANNED",
        fmt::format("needs {}; {} of {} are free and {:.0f} % are kept free (--memory-reserve)",
                    format_gib(need), format_gib(memory.free_bytes), format_gib(memory.total_bytes),
                    100 * work.conditions.memory_reserve));
  }
}

void CaseRunner::execute(const Case& work, Result& result) {
  const DeviceInfo& info = setup_.device.info();
  if (info.kind == DeviceKind::cuda && info.cc_major < 8) {
    throw Unsupported(
        "E_NO_KERNEL_IMAGE",
        fmt::format("gpubench's kernels are built for sm_80 and newer; this device is {}",
                    info.arch()));
  }
  progress_.phase("preparing");
  require_memory(work);
  Context context{setup_.device, *stream_, setup_.libraries, work.conditions};
  job_ = work.workload->prepare(context, work.params);
  const JobInfo job_info = job_->info();
  result.impl = job_info.impl;
  result.algorithm = job_info.algorithm;
  result.compute_type = job_info.compute_type;
  result.emulated = job_info.emulated;
  result.peak.dtype = job_info.peak_dtype;
  result.warnings = job_info.warnings;
  if (!job_info.cache.empty()) result.cache = job_info.cache;
  result.work = job_->work();
  result.peak_memory_bytes = job_info.memory_bytes;
  result.workspace_bytes = job_info.workspace_bytes;

  if (setup_.verify) {
    progress_.phase("verifying");
    merge_check(result, job_->verify(*stream_));
    if (!result.check->passed) return fail_check(result, "before measuring");
  }
  if (stopped(result)) return;
  if (setup_.profile) return profile(work, result);
  TelemetryCounters before;
  if (setup_.source != nullptr) {
    before = setup_.source->counters();
    setup_.source->begin_utilisation();
  }
  Measurement measurement =
      measure(setup_.device, *stream_, *job_, setup_.policy, stop_,
              [this](const SamplingProgress& state) { progress_.sampling(state); });
  if (stopped(result)) return;
  if (setup_.source != nullptr) {
    const auto gpm = setup_.source->end_utilisation();
    result.telemetry = setup_.telemetry->window(measurement.begin_s, measurement.end_s);
    result.telemetry->gpm = gpm;
    add_counters(*result.telemetry, before, setup_.source->counters());
    setup_.telemetry->forget_before(measurement.end_s);
  }
  if (const auto clock = job_->measured_clock_mhz(*stream_)) {
    result.peak.clock_mhz = clock;
    result.peak.clock_source = "cycles";
  }
  if (setup_.verify) {
    progress_.phase("verifying");
    merge_check(result, job_->verify(*stream_));
    if (!result.check->passed) return fail_check(result, "after measuring");
  }
  result.measurement = std::move(measurement);
  result.status = Status::ok;
  result.reason = {};
  derive(result, setup_.described);
  result.remarks = remarks(result, setup_.described);
  if (info.kind == DeviceKind::cuda) {
    for (std::string& sentence : slowing_environment(setup_.environment, result)) {
      if (!has_warning(result, "W_SLOW_ENVIRONMENT")) {
        result.warnings.emplace_back("W_SLOW_ENVIRONMENT");
      }
      result.remarks.push_back(std::move(sentence));
    }
  }
  if (!setup_.verify) {
    result.warnings.emplace_back("W_NOT_VERIFIED");
    result.remarks.emplace_back("not verified (--no-verify): a wrong result would look the same");
  }
}

void CaseRunner::profile(const Case& work, Result& result) {
  progress_.phase("profiling");
  job_->enqueue(*stream_, 0);  // loads what is loaded on first use
  stream_->synchronize();
  setup_.device.begin_profile(work.id);
  job_->enqueue(*stream_, 1);
  stream_->synchronize();
  setup_.device.end_profile();
  result.reason = {"E_PROFILED", "one iteration ran for a profiler, nothing was measured"};
}

void CaseRunner::take(const DeviceError& error, Result& result) {
  result.status = error.code() == "E_HANG" ? Status::timeout : Status::failed;
  result.reason = error.reason();
  hung_ = error.code() == "E_HANG";
  // Freeing the memory of a hung kernel waits for it: the job is left to the end of the process.
  if (hung_) static_cast<void>(job_.release());
  if (hung_ || error.sticky() || !setup_.device.recover()) {
    lost_ = {"E_DEVICE_LOST", "the device was lost in " + result.id + ": " + error.what()};
  }
}

Result CaseRunner::run(const Case& work, std::stop_token stop) {
  stop_ = std::move(stop);
  Result result = unrun_result(work, setup_.device_index, device_word(setup_.device.info()), {});
  const auto end_with = [&result](Status status, Reason reason) {
    result.status = status;
    result.reason = std::move(reason);
  };
  try {
    setup_.device.activate();
    execute(work, result);
  } catch (const Unsupported& error) {
    end_with(Status::skipped, error.reason());
  } catch (const DeviceError& error) {
    take(error, result);
  } catch (const Error& error) {
    end_with(Status::failed, error.reason());
  } catch (const std::bad_alloc&) {
    end_with(Status::failed, {"E_OOM", "the host has too little memory for this case"});
  } catch (const std::exception& error) {
    end_with(Status::failed, {"E_INTERNAL", error.what()});
  }
  job_.reset();
  return result;
}

}  // namespace gpubench
