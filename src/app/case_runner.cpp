// SPDX-License-Identifier: Apache-2.0
#include "app/case_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "analysis/derive.h"
#include "analysis/environment.h"
#include "analysis/remarks.h"
#include "analysis/slowed.h"
#include "core/paired.h"
#include "gpubench/error.h"
#include "measure/paired.h"
#include "measure/sampler.h"
#include "ops/support/burn_job.h"
#include "util/text.h"

namespace gpubench {
namespace {

/// No sample takes this long: the kernel hangs.
constexpr double kHangS = 60;
constexpr double kLookEveryS = 1;
/// Load that is enqueued at a time for others' sake.
constexpr double kCompanyS = 20e-3;

/// The first check is kept unless the one after measuring is worse.
void merge_check(Result& result, const Check& check) {
  if (!result.check || !check.passed || !(check.error <= result.check->error)) result.check = check;
}

void fail_check(Result& result, const std::string& when) {
  result.status = Status::wrong;
  const Check& check = *result.check;
  // Bits can change within the tolerance: then the detail alone says what is wrong.
  const bool within = check.error <= check.tolerance && !check.detail.empty();
  result.reason = {"E_WRONG_RESULT",
                   within ? fmt::format("{}: {}", when, check.detail)
                          : fmt::format("{}: error {:.3g} above {:.3g} against {}{}{}", when,
                                        check.error, check.tolerance, check.reference,
                                        check.detail.empty() ? "" : "; ", check.detail)};
}

}  // namespace

CaseRunner::CaseRunner(Setup setup, Progress& progress)
    : setup_(std::move(setup)),
      progress_(progress),
      stream_(setup_.device.make_stream()),
      side_stream_(setup_.device.make_stream()),
      probe_(setup_.device) {}

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

bool CaseRunner::prepare(Running& running) {
  const Case& work = *running.work;
  Result& result = running.result;
  const DeviceInfo& info = setup_.device.info();
  if (info.kind == DeviceKind::cuda && info.cc_major < 8) {
    throw Unsupported(
        "E_NO_KERNEL_IMAGE",
        fmt::format("gpubench's kernels are built for sm_80 and newer; this device is {}",
                    info.arch()));
  }
  phase("preparing");
  require_memory(work);
  Context context{setup_.device,           *stream_, setup_.libraries, work.conditions,
                  &running.world->rank(0), stop_};
  running.job = work.workload->prepare(context, work.params);
  end_if_stopped(stop_);
  if (work.conditions.burn) {
    running.job = std::make_unique<BurnJob>(setup_.device, *stream_, std::move(running.job));
  }
  const JobInfo job_info = running.job->info();
  result.impl = job_info.impl;
  result.algorithm = job_info.algorithm;
  result.compute_type = job_info.compute_type;
  result.emulated = job_info.emulated;
  result.peak.dtype = job_info.peak_dtype;
  result.warnings = job_info.warnings;
  if (!job_info.cache.empty()) result.cache = job_info.cache;
  result.work = running.job->work();
  result.peak_memory_bytes = job_info.memory_bytes;
  result.workspace_bytes = job_info.workspace_bytes;
  return check(running, "before measuring") && !stopped(result);
}

/// Compares the outputs with the reference, where that was asked for.
bool CaseRunner::check(Running& running, const char* when) {
  if (!setup_.verify) return true;
  phase("verifying");
  Result& result = running.result;
  merge_check(result, running.job->verify(*stream_));
  if (!result.check->passed) fail_check(result, when);
  return result.check->passed;
}

void CaseRunner::phase(const char* what) {
  if (alone_) progress_.phase(what);
}

void CaseRunner::sampling(const Running& running, const SamplingProgress& state) {
  if (alone_) progress_.sampling(state);
  if (setup_.watch) setup_.watch(state);
  if (complained_ || steady_seconds() - looked_at_s_ < kLookEveryS) return;
  looked_at_s_ = steady_seconds();
  const std::string complaint = running.job->complaint(*side_stream_);
  if (complaint.empty()) return;
  complained_ = true;  // once: the result says the rest
  progress_.warn(running.result.id + " on device " + device_word(setup_.device.info()) + ": " +
                 complaint);
}

bool CaseRunner::measure_alone(Running& running, Membership& member) {
  member.meet(stop_);
  TelemetryCounters before;
  if (setup_.source != nullptr) {
    before = setup_.source->counters();
    setup_.source->begin_utilisation();
  }
  Result& result = running.result;
  Measurement measurement = measure(
      setup_.device, *stream_, *running.job, setup_.policy, stop_,
      [&](const SamplingProgress& state) { sampling(running, state); }, kHangS,
      running.work->conditions.mode,
      [&](bool begins) { begins ? probe_.begin(*stream_) : probe_.end(*stream_); });
  if (stopped(result)) return false;
  if (setup_.source != nullptr) {
    const auto gpm = setup_.source->end_utilisation();
    result.telemetry = setup_.telemetry->window(measurement.begin_s, measurement.end_s);
    result.telemetry->gpm = gpm;
    add_counters(*result.telemetry, before, setup_.source->counters());
    setup_.telemetry->forget_before(measurement.end_s);
    mark_slowed_samples(measurement, *result.telemetry);
  }
  // Bursts: most of the time between begin and end is rest.
  const bool steady = running.work->conditions.mode == LoadMode::sustained;
  take_clock(running, steady ? probe_.mhz(*stream_) : std::nullopt);
  result.measurement = std::move(measurement);
  member.satisfied();
  keep_company(running, member);
  return true;
}

/// Percentages are at the counted clock, NVML or not: what NVML reports is the clock asked for, and
/// under tensor load Hopper's SMs run at less (docs/measuring.md).
void CaseRunner::take_clock(Running& running, const std::optional<double>& counted) {
  Result& result = running.result;
  if (result.telemetry) result.telemetry->sm_clock_counted_mhz = counted;
  auto clock = running.job->measured_clock_mhz(*stream_);
  if (!clock) clock = counted;
  if (!clock) return;
  result.peak.clock_mhz = clock;
  result.peak.clock_source = "cycles";
}

/// The same load, until the other members have their samples too.
void CaseRunner::keep_company(Running& running, const Membership& member) {
  if (member.alone()) return;
  const double iteration_s = median(running.result.measurement->samples_s);
  const auto count = std::size_t(std::clamp(kCompanyS / iteration_s, 1.0, 1e5));
  for (std::size_t iteration = 0; member.needed() && !stop_.stop_requested();) {
    for (std::size_t i = 0; i < count; ++i) running.job->enqueue(*stream_, iteration++);
    stream_->synchronize();
  }
}

void CaseRunner::measure_in_turn(const std::vector<Running*>& sides,
                                 std::vector<Comparison>& comparisons) {
  std::vector<Job*> jobs;
  for (const Running* side : sides) jobs.push_back(side->job.get());
  const auto power_bound = [this](double begin_s, double end_s) {
    if (setup_.telemetry == nullptr) return false;
    const auto throttle = setup_.telemetry->window(begin_s, end_s).throttle;
    return throttle && throttle->count("sw_power_cap") != 0;
  };
  PairedMeasurement measured = measure_paired(
      setup_.device, *stream_, jobs, setup_.policy, stop_,
      [this](const SamplingProgress& state) { progress_.sampling(state); }, power_bound, &probe_,
      kHangS);
  for (std::size_t i = 0; i < sides.size(); ++i) {
    Result& result = sides[i]->result;
    if (stopped(result)) continue;
    if (setup_.telemetry != nullptr) {
      result.telemetry = setup_.telemetry->window(measured.sides[i].turns);
    }
    take_clock(*sides[i], measured.sides[i].clock_mhz);
    result.measurement = std::move(measured.sides[i].measurement);
    if (i == 0 || !measured.ratios[i - 1]) continue;
    const Ratio& ratio = *measured.ratios[i - 1];
    Comparison comparison{.a = sides.front()->result.id,
                          .b = result.id,
                          .device = setup_.device_index,
                          .ratio = ratio.ratio,
                          .ci95_low = {},
                          .ci95_high = {},
                          .verdict = paired_verdict(ratio)};
    if (ratio.ci95) {
      comparison.ci95_low = ratio.ci95->low;
      comparison.ci95_high = ratio.ci95->high;
    }
    comparisons.push_back(std::move(comparison));
  }
  if (setup_.telemetry != nullptr) setup_.telemetry->forget_before(steady_seconds());
}

/// From samples to a result, once they are verified again.
void CaseRunner::finish(Running& running) {
  Result& result = running.result;
  if (!check(running, "after measuring")) {
    result.measurement.reset();
    return;
  }
  result.status = Status::ok;
  result.reason = {};
  derive(result, setup_.described);
  result.remarks = remarks(result, setup_.described);
  if (setup_.device.info().kind == DeviceKind::cuda) {
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

void CaseRunner::profile(Running& running) {
  phase("profiling");
  Job& job = *running.job;
  job.enqueue(*stream_, 0);  // loads what is loaded on first use
  stream_->synchronize();
  setup_.device.begin_profile(running.work->id);
  job.enqueue(*stream_, 1);
  stream_->synchronize();
  setup_.device.end_profile();
  running.result.reason = {"E_PROFILED", "one iteration ran for a profiler, nothing was measured"};
}

void CaseRunner::take(const DeviceError& error, Running& running) {
  Result& result = running.result;
  result.status = error.code() == "E_HANG" ? Status::timeout : Status::failed;
  result.reason = error.reason();
  hung_ = hung_ || error.code() == "E_HANG";
  // Freeing the memory of a hung kernel waits for it: the job is left to the end of the process.
  if (hung_) static_cast<void>(running.job.release());
  if (hung_ || error.sticky() || !setup_.device.recover()) {
    lost_ = {"E_DEVICE_LOST", "the device was lost in " + result.id + ": " + error.what()};
  }
}

CaseRunner::Running CaseRunner::start(const Case& work) const {
  return {&work, unrun_result(work, setup_.device_index, device_word(setup_.device.info()), {}),
          std::make_unique<ThreadWorld>(1, stop_), nullptr};
}

bool CaseRunner::attempt(Running& running, const std::function<bool()>& step) {
  const auto end_with = [&](Status status, Reason reason) {
    running.result.status = status;
    running.result.reason = std::move(reason);
  };
  try {
    setup_.device.activate();
    return step();
  } catch (const Unsupported& error) {
    end_with(Status::skipped, error.reason());
  } catch (const DeviceError& error) {
    take(error, running);
  } catch (const Error& error) {
    if (error.code() != "E_INTERRUPTED" || !stopped(running.result)) {
      end_with(Status::failed, error.reason());
    }
  } catch (const std::bad_alloc&) {
    end_with(Status::failed, {"E_OOM", "the host has too little memory for this case"});
  } catch (const std::exception& error) {
    end_with(Status::failed, {"E_INTERNAL", error.what()});
  }
  return false;
}

Result CaseRunner::run(const Case& work, std::stop_token stop, Gathering* gathering) {
  stop_ = std::move(stop);
  Membership member(gathering);
  alone_ = member.alone();
  complained_ = false;
  Running running = start(work);
  attempt(running, [&] {
    if (!prepare(running)) return false;
    if (setup_.profile) {
      profile(running);
    } else if (measure_alone(running, member)) {
      finish(running);
    }
    return true;
  });
  return std::move(running.result);
}

GroupResults CaseRunner::run_in_turn(std::span<const Case> cases, std::stop_token stop) {
  stop_ = std::move(stop);
  alone_ = true;
  complained_ = false;
  Membership alone(nullptr);
  std::vector<Running> all;
  for (const Case& work : cases) all.push_back(start(work));
  GroupResults paired;
  std::vector<Running*> sides;
  for (Running& running : all) {
    if (!lost_.code.empty()) {
      running.result.reason = lost_;
    } else if (attempt(running, [&] { return prepare(running); })) {
      sides.push_back(&running);
    } else if (!hung_) {
      running.job.reset();  // its memory is the others'
    }
  }
  if (!sides.empty()) {
    Running& first = *sides.front();
    const bool measured = attempt(first, [&] {
      if (sides.size() == 1) return measure_alone(first, alone);
      measure_in_turn(sides, paired.comparisons);
      return true;
    });
    for (Running* side : sides) {
      if (measured && side->result.measurement) {
        attempt(*side, [&] {
          finish(*side);
          return true;
        });
      } else if (!measured && side != &first) {
        side->result.status = first.result.status;
        side->result.reason = first.result.reason;
        if (hung_) static_cast<void>(side->job.release());
      }
    }
  }
  const auto is_ok = [&](const std::string& id) {
    return std::any_of(all.begin(), all.end(), [&](const Running& running) {
      return running.result.id == id && running.result.status == Status::ok;
    });
  };
  // A side whose outputs were wrong in the end has no time.
  std::erase_if(paired.comparisons, [&](const Comparison& comparison) {
    return !is_ok(comparison.a) || !is_ok(comparison.b);
  });
  for (Running& running : all) paired.results.push_back(std::move(running.result));
  return paired;
}

}  // namespace gpubench
