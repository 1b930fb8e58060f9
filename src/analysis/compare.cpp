// SPDX-License-Identifier: Apache-2.0
#include "analysis/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "analysis/derive.h"
#include "analysis/match.h"
#include "analysis/repeat.h"
#include "analysis/run_differences.h"
#include "core/statistics.h"
#include "report/case_key.h"

namespace gpubench {
namespace {

/// Two runs of the same case differ by up to this although nothing has changed.
constexpr double kSame = 0.01;
/// SM clocks that differ by more explain a part of the ratio.
constexpr double kClockDiffers = 0.03;

std::optional<double> usable_median(const Result& result) {
  if (result.status != Status::ok || !result.time_s) return std::nullopt;
  const double median = result.time_s->median;
  return std::isfinite(median) && median > 0 ? std::optional(median) : std::nullopt;
}

/// Speed-up of B and its interval: from the samples, or where a report has none from the intervals
/// of the medians (wider than it need be).
void fill_speedup(const Result& a, const Result& b, CompareRow& row) {
  if (a.measurement && b.measurement) {
    const auto ratio = median_ratio(b.measurement->samples_s, a.measurement->samples_s);
    if (ratio) {
      row.speedup = ratio->ratio;
      if (ratio->ci95) {
        row.ci95_low = ratio->ci95->low;
        row.ci95_high = ratio->ci95->high;
      }
      return;
    }
  }
  row.speedup = *row.median_a_s / *row.median_b_s;
  const Stats& of_a = *a.time_s;
  const Stats& of_b = *b.time_s;
  if (!of_a.ci95_low || !of_a.ci95_high || !of_b.ci95_low || !of_b.ci95_high) return;
  if (!(*of_b.ci95_low > 0) || !(*of_b.ci95_high > 0)) return;
  row.ci95_low = *of_a.ci95_low / *of_b.ci95_high;
  row.ci95_high = *of_a.ci95_high / *of_b.ci95_low;
}

/// What runs of the same case differ by where both were repeated, else what they usually do.
double indistinct(const Result& a, const Result& b) {
  return std::max({kSame, spread_between_runs(a).value_or(0), spread_between_runs(b).value_or(0)});
}

std::string verdict(const CompareRow& row, double same) {
  if (!row.ci95_low || !row.ci95_high) return "unclear";
  const bool within = *row.ci95_low <= 1 && 1 <= *row.ci95_high;
  if (within || std::abs(*row.speedup - 1) < same) return "same";
  return *row.speedup > 1 ? "faster" : "slower";
}

void add(std::string& text, const std::string& more) {
  if (more.empty()) return;
  text += (text.empty() ? "" : "; ") + more;
}

std::string differing(const char* what, const std::string& a, const std::string& b) {
  return a == b ? std::string() : fmt::format("{}: A {}, B {}", what, a, b);
}

/// `--match m` brings cases together that do not do the same. Bytes alone tell that of work
/// without FLOPs only: another type moves other bytes for the same product.
std::string unlike_work(const std::optional<Work>& a, const std::optional<Work>& b) {
  if (!a || !b) return {};
  if (a->flops != b->flops) return fmt::format("FLOP: A {:g}, B {:g}", a->flops, b->flops);
  if (a->flops > 0 || a->bytes == b->bytes) return {};
  return fmt::format("bytes: A {:g}, B {:g}", a->bytes, b->bytes);
}

/// Conditions under which no difference may be called faster or slower.
std::string unlike_conditions(const Result& a, const Result& b) {
  std::string text;
  add(text, differing("data", a.data_dist, b.data_dist));
  add(text, differing("cache", a.cache, b.cache));
  add(text, differing("mode", a.mode, b.mode));
  const auto arithmetic = [](const Result& result) {
    return std::string(result.emulated ? "emulated" : "native");
  };
  add(text, differing("arithmetic", arithmetic(a), arithmetic(b)));
  add(text, unlike_work(a.work, b.work));
  return text;
}

std::string explaining_differences(const Result& a, const Result& b) {
  std::string text;
  if (a.impl == b.impl && !a.algorithm.empty() && !b.algorithm.empty()) {
    add(text, differing("algorithm", a.algorithm, b.algorithm));
  }
  if (!a.compute_type.empty() && !b.compute_type.empty()) {
    add(text, differing("computed in", a.compute_type, b.compute_type));
  }
  const auto clock = [](const Result& result) {
    return result.telemetry ? result.telemetry->sm_clock_median_mhz : std::nullopt;
  };
  const auto clock_a = clock(a);
  const auto clock_b = clock(b);
  if (clock_a && clock_b && std::abs(*clock_a - *clock_b) > kClockDiffers * *clock_a) {
    add(text, fmt::format("SM clock: A {:.0f}, B {:.0f} MHz", *clock_a, *clock_b));
  }
  return text;
}

CompareRow compare_pair(const Result& a, const Result& b) {
  CompareRow row;
  row.median_a_s = usable_median(a);
  row.median_b_s = usable_median(b);
  const bool a_is_worse = badness(a.status) > badness(b.status);
  const Result& worse = a_is_worse ? a : b;
  if (worse.status != Status::ok) {
    row.verdict = to_string(worse.status);
    row.remark =
        fmt::format("{}: {}: {}", a_is_worse ? "A" : "B", worse.reason.code, worse.reason.message);
    return row;
  }
  if (!row.median_a_s || !row.median_b_s) {
    row.verdict = "failed";
    row.remark = fmt::format("{} has no time", row.median_a_s ? "B" : "A");
    return row;
  }
  const bool suspect_a = has_warning(a, "W_ABOVE_CLOCK_PEAK");
  if (suspect_a || has_warning(b, "W_ABOVE_CLOCK_PEAK")) {
    row.verdict = "suspect";
    row.remark = fmt::format("{} is above the peak at its clock: a fault of the measurement",
                             suspect_a ? "A" : "B");
    return row;
  }
  fill_speedup(a, b, row);
  const std::string unlike = unlike_conditions(a, b);
  row.verdict = unlike.empty() ? verdict(row, indistinct(a, b)) : "unlike";
  if (row.verdict == "unclear") row.remark = "too few samples for an interval";
  add(row.remark, unlike);
  add(row.remark, explaining_differences(a, b));
  return row;
}

std::string device_name(const Report& report, const Result& result) {
  const auto index = static_cast<std::size_t>(result.device);
  if (result.device < 0 || index >= report.devices.size()) return {};
  const DeviceInfo& info = report.devices[index].info;
  return info.kind == DeviceKind::cpu ? "cpu" : fmt::format("{} {}", info.index, info.name);
}

/// What case_labels reads, without the samples.
Result light_copy(const Result& result) {
  Result light;
  light.id = result.id;
  light.workload = result.workload;
  light.params = result.params;
  return light;
}

/// Nothing tells which of two results of one case is meant: a report edited or joined by hand.
void note_repeated_cases(const char* side, const Report& report, std::vector<std::string>& notes) {
  std::set<std::pair<int, std::string>> seen;
  std::set<std::string> repeated;
  for (const Result& result : report.results) {
    if (!seen.emplace(result.device, result.id).second) repeated.insert(result.id);
  }
  if (repeated.empty()) return;
  notes.push_back(fmt::format(
      "{} has several results of {}{}; they are paired in their order", side, *repeated.begin(),
      repeated.size() > 1 ? fmt::format(" and of {} more cases", repeated.size() - 1)
                          : std::string()));
}

void summarise(CompareReport& compared, bool allow_partial) {
  double log_sum = 0;
  for (const CompareRow& row : compared.rows) {
    if (row.id_a.empty() || row.id_b.empty()) continue;
    ++compared.pairs;
    if (row.verdict != "faster" && row.verdict != "slower" && row.verdict != "same") continue;
    ++compared.comparable;
    log_sum += std::log(*row.speedup);
  }
  compared.nothing_in_common = compared.pairs == 0;
  const bool all = compared.comparable == compared.pairs;
  if (compared.comparable > 0 && (all || allow_partial)) {
    compared.mean_speedup = std::exp(log_sum / compared.comparable);
  }
}

}  // namespace

CompareReport compare_reports(const Report& a, const Report& b, const CompareOptions& options) {
  CompareReport compared;
  compared.a = describe_run(a);
  compared.b = describe_run(b);
  compared.notes = run_differences(a, b);
  note_repeated_cases("A", a, compared.notes);
  note_repeated_cases("B", b, compared.notes);
  std::vector<Result> lights;
  for (const Match& match : match_results(a, b, options.ignore_params)) {
    const Result* of_a = match.a ? &a.results[*match.a] : nullptr;
    const Result* of_b = match.b ? &b.results[*match.b] : nullptr;
    CompareRow row;
    if (of_a != nullptr && of_b != nullptr) {
      row = compare_pair(*of_a, *of_b);
    } else {
      row.verdict = of_a != nullptr ? "gone" : "new";
      if (of_a != nullptr) row.median_a_s = usable_median(*of_a);
      if (of_b != nullptr) row.median_b_s = usable_median(*of_b);
    }
    if (of_a != nullptr) {
      row.id_a = of_a->id;
      row.impl_a = of_a->impl;
      row.device = device_name(a, *of_a);
    }
    if (of_b != nullptr) {
      row.id_b = of_b->id;
      row.impl_b = of_b->impl;
      row.device = device_name(b, *of_b);
    }
    lights.push_back(light_copy(of_a != nullptr ? *of_a : *of_b));
    compared.rows.push_back(std::move(row));
  }
  const std::vector<std::string> labels = case_labels(lights);
  for (std::size_t i = 0; i < labels.size(); ++i) compared.rows[i].label = labels[i];
  summarise(compared, options.allow_partial);
  return compared;
}

}  // namespace gpubench
