// SPDX-License-Identifier: Apache-2.0
#include "analysis/remarks.h"

#include <fmt/format.h>

#include "analysis/derive.h"
#include "analysis/roof.h"
#include "report/case_key.h"
#include "util/text.h"

namespace gpubench {
namespace {

constexpr double kLowPct = 60;
/// Some tens of launch overheads: below it, filling and draining the SMs takes much of the time.
constexpr double kSmall_s = 20e-6;
/// Clocks step by 15 MHz and wander; below this share of the highest one it counts as low.
constexpr double kLowClock = 0.9;

class Remarks {
 public:
  Remarks(const Result& result, const ReportDevice& device) : result_(result), device_(device) {}

  std::vector<std::string> take() {
    faults();
    limits();
    counted_cycles();
    placement();
    health();
    size_and_implementation();
    conditions();
    missing();
    return std::move(lines_);
  }

 private:
  template <class... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) {
    lines_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }
  bool warned(const char* code) const { return has_warning(result_, code); }

  std::optional<double> clock_mhz() const { return result_.peak.clock_mhz; }

  /// The clock that the driver asked for, as far as known: what a lock would lower.
  std::optional<double> asked_clock_mhz() const {
    if (result_.telemetry && result_.telemetry->sm_clock_median_mhz) {
      return result_.telemetry->sm_clock_median_mhz;
    }
    return clock_mhz();
  }

  /// ", SM clock 1440 of 1980 MHz", as far as known.
  std::string clock_text() const {
    const auto clock = clock_mhz();
    if (!clock) return {};
    const auto& highest = device_.info.max_sm_clock_mhz;
    return highest ? fmt::format(", SM clock {:.0f} of {:.0f} MHz", *clock, *highest)
                   : fmt::format(", SM clock {:.0f} MHz", *clock);
  }

  double share_pct(std::initializer_list<const char*> reasons) const {
    return 100 * throttle_share(result_, reasons).value_or(0);
  }

  void faults() {
    const Peak& peak = result_.peak;
    if (warned("W_ABOVE_CLOCK_PEAK") && peak.at_clock_pct) {
      say("a fault of the measurement, don't use this number: {:.1f} % of what {} SMs can do at "
          "the "
          "measured clock of {:.0f} MHz",
          *peak.at_clock_pct, device_.info.sm_count, clock_mhz().value_or(0));
    }
    if (warned("W_ABOVE_DATASHEET") && peak.datasheet_pct) {
      const auto assumed = datasheet_clock_mhz(device_, peak.dtype);
      say("above the datasheet's {:.1f} {}{}{}", datasheet_tflops(device_, peak.dtype).value_or(0),
          peak.dtype == "int8" ? "TOP/s" : "TFLOP/s",
          assumed ? fmt::format(", which stands for {:.0f} MHz", *assumed) : std::string(),
          clock_text());
    }
    if (!warned("W_CACHE_RESIDENT")) return;
    if (peak.memory_pct && *peak.memory_pct > 100) {
      say("apparently {:.0f} GB/s, {:.0f} % of the memory's peak: part of the data came from the "
          "cache "
          "although cold was asked for",
          result_.rate.gb_per_s.value_or(0), *peak.memory_pct);
    } else {
      say("the data may have stayed in the cache although cold was asked for");
    }
  }

  void limits() {
    if (warned("W_POWER_CAP")) {
      const auto& limit = device_.info.power_limit_w;
      // Without the clock, which is beside it: alike for many cases, so one footnote of the table.
      say("power-capped: at {} in {:.0f} % of readings, which lowers the SM clock",
          limit ? fmt::format("the {:.0f} W limit", *limit) : std::string("the power limit"),
          share_pct({"sw_power_cap"}));
    }
    if (warned("W_THERMAL")) {
      const auto temperature = result_.telemetry->temperature_max_c;
      say("slowed down by heat in {:.0f} % of readings{}{}",
          share_pct({"sw_thermal", "hw_thermal"}),
          temperature ? fmt::format(", up to {:.0f} C", *temperature) : std::string(),
          clock_text());
    }
    if (warned("W_HW_SLOWDOWN")) {
      say("slowed down by the hardware in {:.0f} % of readings (power supply or cooling: have the "
          "machine checked){}",
          share_pct({"hw_slowdown", "hw_power_brake"}), clock_text());
    }
    if (warned("W_POWER_LIMIT_REDUCED")) {
      const double limit = device_.info.power_limit_w.value_or(0);
      const double usual = device_.info.default_power_limit_w.value_or(0);
      say("the power limit is set to {:.0f} W, {:.0f} % of the default {:.0f} W", limit,
          100 * limit / usual, usual);
    }
    const auto& highest = device_.info.max_sm_clock_mhz;
    const bool explained = warned("W_POWER_CAP") || warned("W_THERMAL") || warned("W_HW_SLOWDOWN");
    const auto clock = asked_clock_mhz();
    if (clock && highest && *clock < kLowClock * *highest && !explained && is_low()) {
      say("SM clock only {:.0f} of {:.0f} MHz, and neither power nor heat is the reason: are the "
          "clocks "
          "locked? (nvidia-smi -q -d CLOCK)",
          *clock, *highest);
    }
  }

  /// FLOP per clock and SM: what micro/clock is for, and what no percentage tells of a device that
  /// is not in the catalogue.
  void counted_cycles() {
    const Peak& peak = result_.peak;
    if (peak.clock_source != "cycles" || !result_.rate.tflops || device_.info.sm_count <= 0) return;
    if (result_.workload != "micro/clock" && device_.match.spec) return;
    say("{:.1f} FLOP per clock and SM at {:.0f} MHz, by the SMs' own count of cycles",
        *result_.rate.tflops * 1e6 / (*peak.clock_mhz * device_.info.sm_count), *peak.clock_mhz);
  }

  void placement() {
    if (warned("W_NUMA_ELSEWHERE")) {
      say("the host's memory is not on the NUMA node of the GPU: another rate than with it there");
    }
    if (warned("W_ABOVE_CACHE")) {
      say("the working set is larger than the cache, so part of it comes from the memory");
    }
  }

  void health() {
    if (warned("W_GPU_BUSY")) {
      say("{} other process{} on this GPU when the run began: it shares the time and the memory "
          "bandwidth (nvidia-smi names {})",
          *device_.info.other_processes, *device_.info.other_processes == 1 ? " was" : "es were",
          *device_.info.other_processes == 1 ? "it" : "them");
    }
    if (warned("W_ECC_ERRORS")) {
      const double fatal = counted(result_, {"ecc_uncorrected"});
      say("{:.0f} memory errors were counted while this was measured{}: have the card checked "
          "(nvidia-smi -q -d ECC,ROW_REMAPPER)",
          counted(result_, {"ecc_corrected", "ecc_uncorrected", "remapped_rows"}),
          fatal > 0 ? fmt::format(", {:.0f} of them not corrected", fatal) : std::string());
    }
    if (warned("W_PCIE_ERRORS")) {
      say("the PCIe link repeated {:.0f} packets while this was measured: riser, slot or cable",
          counted(result_, {"pcie_replays"}));
    }
    if (warned("W_PCIE_DEGRADED")) {
      const DeviceInfo& info = device_.info;
      if (info.pcie_width && info.pcie_max_width && *info.pcie_width < *info.pcie_max_width) {
        say("the PCIe link has {} of {} lanes: riser, slot or another card's share",
            *info.pcie_width, *info.pcie_max_width);
      }
      const int gen = result_.telemetry ? result_.telemetry->pcie_gen.value_or(0) : 0;
      if (gen > 0 && info.pcie_max_gen && gen < *info.pcie_max_gen) {
        say("the PCIe link ran at generation {} of {} under load: riser, slot or a BIOS setting",
            gen, *info.pcie_max_gen);
      }
    }
  }

  /// Below 60 % of the roof that binds.
  bool is_low() const {
    const Peak& peak = result_.peak;
    const auto& pct = peak.bound == "memory" ? peak.memory_pct
                      : peak.bound == "link" ? peak.link_pct
                                             : peak.datasheet_pct;
    return pct && *pct < kLowPct;
  }

  void size_and_implementation() {
    const Peak& peak = result_.peak;
    const bool memory = peak.bound == "memory";
    if (warned("W_LAUNCH_BOUND")) {
      say("the device waited for the host's launches: the time is the host's, not the kernel's; a "
          "larger "
          "size or an idle host helps");
    }
    const bool near_memory_peak = memory && peak.memory_pct && *peak.memory_pct >= kLowPct;
    if (near_memory_peak && peak.datasheet_pct && *peak.datasheet_pct < kLowPct) {
      say("memory-bound at this size: {:.0f} GB/s is {:.0f} % of the memory's peak",
          result_.rate.gb_per_s.value_or(0), *peak.memory_pct);
    }
    if (!is_low() || warned("W_LAUNCH_BOUND")) return;
    if (peak.bound == "link") {
      say("{:.0f} % of the link's peak: small transfers wait for their start, pageable memory is "
          "copied twice",
          *peak.link_pct);
      return;
    }
    if (result_.time_s->median < kSmall_s) {
      say("too small to fill the GPU: one iteration takes {} on {} SMs",
          format_time(result_.time_s->median), device_.info.sm_count);
    } else if (memory) {
      say("{:.0f} % of the memory's peak although memory binds: {} is what limits here",
          *peak.memory_pct, implementation());
    } else if (peak.at_clock_pct && *peak.at_clock_pct < kLowPct) {
      say("{:.0f} % even at the measured clock: not power or clock but {} limits at this size",
          *peak.at_clock_pct, implementation());
    }
  }

  std::string implementation() const {
    return result_.impl.empty() ? "the implementation"
                                : "the implementation (" + result_.impl + ")";
  }

  std::string not_converged() const {
    // In turn, the noise target is for the ratio, whose interval is in `comparisons`.
    if (result_.measurement->block_s) {
      return result_.time_s->stop == "plateau"
                 ? "not converged: more turns don't narrow the interval of the ratio"
                 : "not converged: too few turns for an interval of the ratio as narrow as asked";
    }
    const auto half = relative_half_width(*result_.time_s);
    return fmt::format("not converged after {} samples{}: the machine is noisy", result_.time_s->n,
                       half ? fmt::format(", the median is known to ±{:.1f} %", 100 * *half) : "");
  }

  void conditions() {
    if (warned("W_NOT_CONVERGED")) {
      say("{}{}", not_converged(),
          // More time helps where it was what ended the sampling, and it is the user's to give.
          result_.time_s->stop == "max_time" && !parse_case_id(result_.id).values.count("burn")
              ? "; --max-time gives it longer"
              : "");
    }
    if (warned("W_LOW_ENTROPY_DATA")) {
      say("the data are all {}, which saves power: faster than with real data", result_.data_dist);
    }
    if (warned("W_NO_WARMUP")) {
      say("no warm-up: the clocks of the first moments can't be sustained");
    }
    if (warned("W_WORLD_OF_ONE")) {
      say("a world of one rank: a copy within the device, no link is used and there is no bus "
          "bandwidth (2 (n - 1) / n is 0)");
    }
    if (result_.emulated) {
      say("emulated: operands rounded to the type, computed in {}; no measure of hardware for this "
          "type",
          result_.compute_type.empty() ? "another" : result_.compute_type);
    }
  }

  void missing() {
    if (warned("W_UNKNOWN_DEVICE")) {
      say("no percentages: the device is not in the catalogue ({})", device_.match.rule);
    }
    if (warned("W_NO_NVML")) {
      say("no clocks, power or percentage at clock: NVML could not be used (gpubench doctor says "
          "why)");
    }
  }

  const Result& result_;
  const ReportDevice& device_;
  std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> remarks(const Result& result, const ReportDevice& device) {
  if (!result.time_s) return {};
  return Remarks(result, device).take();
}

}  // namespace gpubench
