// SPDX-License-Identifier: Apache-2.0
#include "report/table.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "report/case_key.h"
#include "util/text.h"

namespace gpubench {
namespace {

/// A remark that is said of this many cases becomes a footnote.
constexpr int kFootnoteFrom = 3;

std::string percent_text(const std::optional<double>& value) {
  return value ? fmt::format("{:.1f} %", *value) : std::string();
}

std::string time_text(const Result& result) {
  if (!result.time_s) return {};
  const Stats& stats = *result.time_s;
  std::string text = format_time(stats.median);
  if (stats.ci95_low && stats.ci95_high && stats.median > 0) {
    const double half_pct = 100 * (*stats.ci95_high - *stats.ci95_low) / 2 / stats.median;
    text += half_pct < 0.095 ? fmt::format(" ±{:.2f} %", half_pct)
                             : fmt::format(" ±{:.1f} %", half_pct);
  }
  return text;
}

/// One decimal; a rate so small that this would be 0.0 keeps three digits.
std::string rate_number(double value) {
  return value < 1 ? fmt::format("{:.3g}", value) : fmt::format("{:.1f}", value);
}

/// Items where a workload counts them (samples, images), else bytes where memory binds, else FLOPs.
std::string rate_text(const Result& result) {
  const Rate& rate = result.rate;
  if (rate.busbw_gb_per_s) return rate_number(*rate.busbw_gb_per_s) + " GB/s bus";
  if (rate.items_per_s && result.work && !result.work->item_name.empty()) {
    return fmt::format("{:.4g} {}/s", *rate.items_per_s, result.work->item_name);
  }
  // Below one FLOP a byte, memory binds on any device, also where no peak is known.
  const bool memory =
      result.peak.bound == "memory" || (result.work && result.work->flops < result.work->bytes);
  if (rate.gb_per_s && (!rate.tflops || memory)) {
    return rate_number(*rate.gb_per_s) + " GB/s";
  }
  if (!rate.tflops) return {};
  const auto dtype = result.params.find("dtype");
  const bool integer = dtype != result.params.end() && dtype->second == "int8";
  return (*rate.tflops < 1 ? rate_number(*rate.tflops * 1e3) + " G"
                           : rate_number(*rate.tflops) + " T") +
         (integer ? "OP/s" : "FLOP/s");
}

/// Where memory binds, its percentage says more than the tensor cores'.
std::string datasheet_text(const Result& result) {
  if (result.peak.bound == "memory" && result.peak.memory_pct) {
    return percent_text(result.peak.memory_pct) + " mem";
  }
  if (result.peak.link_pct) return percent_text(result.peak.link_pct) + " link";
  return percent_text(result.peak.datasheet_pct);
}

std::string at_clock_text(const Result& result) {
  return result.peak.bound == "memory" ? std::string() : percent_text(result.peak.at_clock_pct);
}

std::string reading_text(const std::optional<double>& value, const char* unit) {
  return value ? fmt::format("{:.0f} {}", *value, unit) : std::string();
}

Tone tone_of(Status status) {
  switch (status) {
    case Status::ok:
      return Tone::plain;
    case Status::skipped:
    case Status::not_run:
      return Tone::caution;
    default:
      return Tone::bad;
  }
}

/// The sentences that several cases share, numbered in order of appearance.
class Footnotes {
 public:
  explicit Footnotes(const std::vector<Result>& results) {
    for (const Result& result : results) {
      for (const std::string& remark : sentences(result)) ++counts_[remark];
    }
  }

  /// Why the case has no number, and the remarks of one that has.
  static std::vector<std::string> sentences(const Result& result) {
    std::vector<std::string> lines;
    if (result.status != Status::ok) {
      lines.push_back(result.reason.code + ": " + result.reason.message);
    }
    if (result.status == Status::wrong && result.check && !result.check->detail.empty() &&
        result.reason.message.find(result.check->detail) == std::string::npos) {
      lines.push_back(result.check->detail);
    }
    if (result.status == Status::ok) {
      lines.insert(lines.end(), result.remarks.begin(), result.remarks.end());
    }
    return lines;
  }

  /// Appends "[1]" to `marks` where the sentence is a footnote; false: it goes below its row.
  bool take(const std::string& sentence, std::string& marks) {
    if (counts_[sentence] < kFootnoteFrom) return false;
    const auto [entry, is_new] = numbers_.emplace(sentence, order_.size() + 1);
    if (is_new) order_.push_back(sentence);
    marks += fmt::format("[{}]", entry->second);
    return true;
  }

  /// The list for the end of the table.
  std::string render(const TableOptions& options) const {
    std::string out = options.markdown && !order_.empty() ? "\n" : "";
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const std::string mark = fmt::format("[{}] ", i + 1);
      const bool wrapped = !options.markdown && options.width > 2 * mark.size();
      const std::size_t width = wrapped ? options.width - mark.size() : std::size_t{1} << 20;
      std::string lead = options.markdown ? "- " + mark : mark;
      for (const std::string& line : wrap(order_[i], width)) {
        out += lead + line + "\n";
        lead = std::string(mark.size(), ' ');
      }
    }
    return out;
  }

 private:
  std::map<std::string, int> counts_;
  std::map<std::string, std::size_t> numbers_;
  std::vector<std::string> order_;
};

/// Only a result that is ok shows numbers: a wrong one gets no rank.
std::vector<Cell> row_cells(const Result& result, const std::string& label,
                            const std::string& device, const std::string& marks) {
  const std::string word(to_string(result.status));
  const Cell status{marks.empty() ? word : word + " " + marks, tone_of(result.status)};
  if (result.status != Status::ok) {
    return {{label}, {device}, {result.impl}, {}, {}, {}, {}, {}, {}, status};
  }
  const Telemetry none;
  const Telemetry& telemetry = result.telemetry ? *result.telemetry : none;
  return {{label},
          {device},
          {result.impl},
          {time_text(result)},
          {rate_text(result)},
          {datasheet_text(result)},
          {at_clock_text(result)},
          {reading_text(result.peak.clock_source == "cycles" ? result.peak.clock_mhz
                                                             : telemetry.sm_clock_median_mhz,
                        "MHz")},
          {reading_text(telemetry.power_median_w, "W")},
          status};
}

std::string limits_text(const DeviceInfo& info) {
  std::vector<std::string> parts = {info.arch()};
  if (info.sm_count > 0) {
    parts.push_back(fmt::format("{} {}", info.sm_count,
                                info.kind == DeviceKind::cpu ? "hardware threads" : "SMs"));
  }
  if (info.memory_bytes > 0) parts.push_back(format_gib(info.memory_bytes));
  if (info.max_sm_clock_mhz) {
    parts.push_back(fmt::format("SM clock up to {:.0f} MHz", *info.max_sm_clock_mhz));
  }
  if (info.memory_clock_mhz) {
    parts.push_back(fmt::format("memory clock {:.0f} MHz", *info.memory_clock_mhz));
  }
  if (info.power_limit_w) {
    std::string power = fmt::format("power limit {:.0f} W", *info.power_limit_w);
    const auto& usual = info.default_power_limit_w;
    if (usual && *usual != *info.power_limit_w) power += fmt::format(" (default {:.0f} W)", *usual);
    parts.push_back(power);
  }
  return join(parts, ", ");
}

std::string header(const Report& report, const TableOptions& options) {
  const std::string bullet = options.markdown ? "- " : "";
  std::vector<std::string> run = {"gpubench " + report.gpubench.version};
  if (!report.suite.name.empty()) run.push_back("suite " + report.suite.name);
  if (!report.host.name.empty()) run.push_back("on " + report.host.name);
  if (!report.created.empty()) run.push_back(report.created);
  std::string out = bullet + printable(join(run, ", ")) + "\n";
  for (const ReportDevice& device : report.devices) {
    out += bullet + fmt::format("device {}: ", device.info.index) + device_text(device) + ": " +
           printable(limits_text(device.info)) + "\n";
    if (device.info.kind == DeviceKind::cuda && !device.match.spec) {
      out += bullet + "   not in the catalogue (" + printable(device.match.rule) +
             "): no percentages\n";
    }
  }
  std::vector<std::string> libraries;
  for (const auto& [name, library] : report.libraries) {
    if (!library.version.empty()) libraries.push_back(name + " " + library.version);
  }
  if (!libraries.empty()) out += bullet + printable(join(libraries, ", ")) + "\n";
  return out;
}

/// What cases sampled in turn say of each other.
std::string comparisons_text(const Report& report) {
  std::vector<Result> sides;
  for (const Comparison& pair : report.comparisons) {
    for (const std::string& id : {pair.a, pair.b}) {
      for (const Result& result : report.results) {
        if (result.id != id || result.device != pair.device) continue;
        sides.emplace_back();
        sides.back().id = id;
        sides.back().workload = result.workload;
        sides.back().params = result.params;
        sides.back().impl = result.impl;
        break;
      }
    }
  }
  if (sides.size() != 2 * report.comparisons.size()) return {};
  const std::vector<std::string> labels = case_labels(sides);
  std::string out;
  for (std::size_t i = 0; i < report.comparisons.size(); ++i) {
    const Comparison& pair = report.comparisons[i];
    const auto side = [&](std::size_t at) { return labels[at] + " (" + sides[at].impl + ")"; };
    out += fmt::format("in turn: {} against {}: {:.4f}x", side(2 * i), side(2 * i + 1), pair.ratio);
    if (pair.ci95_low && pair.ci95_high) {
      out += fmt::format(" ({:.4f} to {:.4f})", *pair.ci95_low, *pair.ci95_high);
    }
    const bool unclear = pair.verdict == "unclear";
    out += pair.verdict == "same"
               ? ", the same\n"
               : fmt::format(", {}\n", unclear ? "too few turns to tell" : pair.verdict);
  }
  return out.empty() ? out : "\n" + out;
}

}  // namespace

std::string device_text(const ReportDevice& device) {
  const std::string name =
      device.info.name.empty() ? "unnamed device" : printable(device.info.name);
  if (!device.match.spec) return name;
  return name + " (" + printable(device.match.spec->marketing_name) + ")";
}

Summary count_results(const std::vector<Result>& results, double wall_s) {
  Summary summary;
  summary.wall_s = wall_s;
  for (const Result& result : results) {
    switch (result.status) {
      case Status::ok:
        ++summary.ok;
        break;
      case Status::skipped:
        ++summary.skipped;
        break;
      case Status::failed:
        ++summary.failed;
        break;
      case Status::wrong:
        ++summary.wrong;
        break;
      case Status::timeout:
        ++summary.timeout;
        break;
      case Status::not_run:
        ++summary.not_run;
        break;
    }
  }
  return summary;
}

std::string summary_text(const Summary& summary) {
  std::vector<std::string> parts = {fmt::format("{} ok", summary.ok)};
  const auto add = [&](int count, const char* word) {
    if (count > 0) parts.push_back(fmt::format("{} {}", count, word));
  };
  add(summary.skipped, "skipped");
  add(summary.failed, "failed");
  add(summary.wrong, "wrong");
  add(summary.timeout, "timed out");
  add(summary.not_run, "not run");
  return join(parts, ", ");
}

std::string result_table(const Report& report, const TableOptions& options) {
  TextTable table({{"case"},
                   {"device", Align::right},
                   {"impl"},
                   {"time", Align::right},
                   {"rate", Align::right},
                   {"datasheet", Align::right},
                   {"at clock", Align::right},
                   {"SM clock", Align::right},
                   {"power", Align::right},
                   {"status"}});
  const std::vector<std::string> labels = case_labels(report.results);
  Footnotes footnotes(report.results);
  for (std::size_t i = 0; i < report.results.size(); ++i) {
    const Result& result = report.results[i];
    std::string marks;
    std::vector<std::string> notes;
    for (const std::string& sentence : Footnotes::sentences(result)) {
      if (!footnotes.take(sentence, marks)) notes.push_back(sentence);
    }
    const std::string device = report.devices.size() > 1 ? std::to_string(result.device) : "";
    table.add_row(row_cells(result, labels[i], device, marks), std::move(notes));
  }
  std::string out = header(report, options);
  if (!table.empty()) out += "\n" + table.render(options) + footnotes.render(options);
  out += comparisons_text(report);
  const Summary summary =
      report.summary ? *report.summary : count_results(report.results, std::nan(""));
  out += "\n" + summary_text(summary);
  if (std::isfinite(summary.wall_s)) out += fmt::format(" in {:.1f} s", summary.wall_s);
  if (!report.complete) out += "; the run did not end: more cases were planned";
  return out + "\n";
}

}  // namespace gpubench
