// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/compare.h"
#include "util/text.h"

namespace gpubench {
namespace {

Tone tone_of(const std::string& verdict) {
  if (verdict == "faster") return Tone::good;
  if (verdict == "slower" || verdict == "wrong" || verdict == "failed") return Tone::bad;
  return verdict == "same" ? Tone::plain : Tone::caution;
}

std::string time_text(const std::optional<double>& seconds) {
  return seconds ? format_time(*seconds) : std::string("-");
}

std::string impl_text(const CompareRow& row) {
  if (row.impl_a.empty() || row.impl_b.empty() || row.impl_a == row.impl_b) {
    return row.impl_a.empty() ? row.impl_b : row.impl_a;
  }
  return row.impl_a + " / " + row.impl_b;
}

std::string interval_text(const CompareRow& row) {
  if (!row.ci95_low || !row.ci95_high) return {};
  return fmt::format("{:.3f} - {:.3f}", *row.ci95_low, *row.ci95_high);
}

/// "7 faster, 2 same, 1 gone", in the order of `order`, then any other word.
std::string counts_text(const std::vector<CompareRow>& rows) {
  std::map<std::string, int> counts;
  for (const CompareRow& row : rows) ++counts[row.verdict];
  std::vector<std::string> pieces;
  for (const char* verdict : {"faster", "same", "slower", "unclear", "unlike", "suspect", "wrong",
                              "failed", "timeout", "skipped", "not_run", "new", "gone"}) {
    if (counts[verdict] > 0) pieces.push_back(fmt::format("{} {}", counts[verdict], verdict));
  }
  return join(pieces, ", ");
}

std::string mean_text(const CompareReport& compared) {
  if (compared.mean_speedup) {
    return fmt::format("speed-up of B over A, geometric mean of {} of {} pairs: {:.3f}",
                       compared.comparable, compared.pairs, *compared.mean_speedup);
  }
  return fmt::format("no overall figure: {} of {} pairs are comparable", compared.comparable,
                     compared.pairs);
}

}  // namespace

std::string compare_table(const CompareReport& compared, const TableOptions& options) {
  const std::string bullet = options.markdown ? "- " : "";
  std::string out =
      bullet + "A: " + printable(compared.a) + "\n" + bullet + "B: " + printable(compared.b) + "\n";
  for (const std::string& note : compared.notes) {
    out += (options.markdown ? "- differs: " : "   differs: ") + printable(note) + "\n";
  }
  if (compared.rows.empty()) return out + "\nnothing to compare: neither report has results\n";

  std::set<std::string> devices;
  for (const CompareRow& row : compared.rows) devices.insert(row.device);
  TextTable table({{"case"},
                   {"device"},
                   {"impl"},
                   {"A", Align::right},
                   {"B", Align::right},
                   {"speed-up", Align::right},
                   {"95 % interval", Align::right},
                   {"verdict"}});
  for (const CompareRow& row : compared.rows) {
    std::vector<std::string> notes;
    if (!row.remark.empty()) notes.push_back(row.remark);
    table.add_row({{row.label},
                   {devices.size() > 1 ? row.device : std::string()},
                   {impl_text(row)},
                   {time_text(row.median_a_s), Tone::plain},
                   {time_text(row.median_b_s), Tone::plain},
                   {row.speedup ? fmt::format("{:.3f}", *row.speedup) : std::string("-")},
                   {interval_text(row)},
                   {row.verdict, tone_of(row.verdict)}},
                  std::move(notes));
  }
  out += "\n" + table.render(options) + "\n";
  out += "speed-up: median time of A / median time of B; above 1, B is faster\n";
  if (options.markdown) out += "\n";
  out += counts_text(compared.rows) + "\n";
  if (options.markdown) out += "\n";
  out += compared.nothing_in_common ? std::string("nothing in common: no case of A is in B\n")
                                    : mean_text(compared) + "\n";
  return out;
}

}  // namespace gpubench
