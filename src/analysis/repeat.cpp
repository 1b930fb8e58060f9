// SPDX-License-Identifier: Apache-2.0
#include "analysis/repeat.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "analysis/derive.h"

namespace gpubench {
namespace {

/// Worth a remark: runs that differ by more than this, and by more than the interval within one.
constexpr double kSpreadToTell = 0.005;

bool has_time(const Result& result) { return result.status == Status::ok && result.time_s; }

}  // namespace

Result combine_runs(std::vector<Result> runs) {
  const auto worst = std::max_element(
      runs.begin(), runs.end(),
      [](const Result& a, const Result& b) { return badness(a.status) < badness(b.status); });
  if (runs.size() == 1 || worst->status != Status::ok) return std::move(*worst);
  if (!std::all_of(runs.begin(), runs.end(), has_time)) return std::move(*worst);
  std::vector<double> medians_s;
  for (const Result& run : runs) medians_s.push_back(run.time_s->median);
  std::vector<std::size_t> order(runs.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return medians_s[a] < medians_s[b]; });
  Result chosen = std::move(runs[order[(order.size() - 1) / 2]]);
  chosen.repeats = Repeats{.medians_s = std::move(medians_s)};
  const double spread = *spread_between_runs(chosen);
  const double within = 2 * relative_half_width(*chosen.time_s).value_or(0);
  if (spread > kSpreadToTell && spread > within) {
    chosen.remarks.push_back(fmt::format("{} runs differ by {:.1f} %: the middle one is shown",
                                         chosen.repeats->medians_s.size(), 100 * spread));
  }
  return chosen;
}

std::optional<double> spread_between_runs(const Result& result) {
  if (!result.repeats || result.repeats->medians_s.size() < 2) return std::nullopt;
  std::vector<double> sorted = result.repeats->medians_s;
  std::sort(sorted.begin(), sorted.end());
  const double middle = sorted[(sorted.size() - 1) / 2];
  if (!(middle > 0)) return std::nullopt;
  return (sorted.back() - sorted.front()) / middle;
}

}  // namespace gpubench
