// SPDX-License-Identifier: Apache-2.0
#include "app/device_bench.h"

#include <fmt/format.h>

#include "app/say.h"
#include "app/session.h"
#include "libs/telemetry.h"
#include "util/text.h"

namespace gpubench {
namespace {

constexpr double kTellEveryS = 10;

}  // namespace

DeviceBench::DeviceBench(const ReportDevice& described, int index, Libraries& libraries,
                         const BenchOptions& options,
                         const std::map<std::string, std::string>& environment, Progress& progress)
    : described_(described), device_(open_device(described.info)), told_at_s_(steady_seconds()) {
  device_->activate();
  source_ = make_telemetry(libraries, described.info);
  if (source_) recorder_.emplace(*source_);
  std::function<void(const SamplingProgress&)> watch;
  if (options.tell_state) watch = [this](const SamplingProgress& state) { tell_state(state); };
  runner_.emplace(CaseRunner::Setup{*device_, libraries, described, index, source_.get(),
                                    recorder_ ? &*recorder_ : nullptr, options.policy,
                                    options.verify, options.profile, std::move(watch), environment},
                  progress);
}

void DeviceBench::tell_state(const SamplingProgress& state) {
  const double now_s = steady_seconds();
  if (now_s - told_at_s_ < kTellEveryS || !(state.median_s > 0)) return;
  std::string line = fmt::format("[device {}] {:.0f} s: {}", described_.info.index, state.elapsed_s,
                                 format_time(state.median_s));
  if (recorder_) {
    const Telemetry telemetry = recorder_->window(told_at_s_, now_s);
    const auto add = [&](const std::optional<double>& value, const char* unit) {
      if (value) line += fmt::format(", {:.0f} {}", *value, unit);
    };
    add(telemetry.sm_clock_median_mhz, "MHz");
    add(telemetry.power_median_w, "W");
    add(telemetry.temperature_max_c, "C");
  }
  told_at_s_ = now_s;
  say(line + "\n");
}

}  // namespace gpubench
