// SPDX-License-Identifier: Apache-2.0
#include "report/writer.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "report/json_values.h"

namespace gpubench {
namespace {

/// Bytes that are not UTF-8 become U+FFFD here, in keys and values alike, so none can be forgotten.
std::string dump(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// A canonical integer ("4096", "-1", "0") is a JSON number, everything else a string.
Json param_value(const std::string& value) {
  std::int64_t integer = 0;
  const char* end = value.data() + value.size();
  const auto parsed = std::from_chars(value.data(), end, integer);
  const bool canonical =
      parsed.ec == std::errc() && parsed.ptr == end && std::to_string(integer) == value;
  return canonical ? Json(integer) : Json(value);
}

Json sampling_value(const Measurement& measurement) {
  Json object;
  object["kind"] = text(measurement.kind);
  object["batch"] = measurement.batch;
  object["paired"] = measurement.block_s.has_value();
  object["block_s"] = number(measurement.block_s);
  object["warmup_s"] = number(measurement.warmup_s);
  object["duration_s"] = number(measurement.end_s - measurement.begin_s);
  object["dropped"] = measurement.dropped;
  object["launch_bound"] = measurement.launch_bound;
  object["timer_resolution_s"] =
      measurement.timer_resolution_s > 0 ? number(measurement.timer_resolution_s) : Json();
  object["slowed"] = optional(measurement.slowed);
  return object;
}

Json to_value(const Check& check) {
  Json object;
  object["passed"] = check.passed;
  object["error"] = number(check.error);
  object["tolerance"] = number(check.tolerance);
  object["reference"] = text(check.reference);
  object["detail"] = text(check.detail);
  return object;
}

Json to_value(const Work& work) {
  Json object;
  object["flops"] = number(work.flops);
  object["bytes"] = number(work.bytes);
  object["bytes_over"] = text(work.bytes_over);
  object["items"] = number(work.items);
  object["item_name"] = text(work.item_name);
  // Only of collectives: absent elsewhere, as in reports of older versions.
  if (work.message_bytes > 0) {
    object["message_bytes"] = number(work.message_bytes);
    object["bus_factor"] = number(work.bus_factor);
  }
  return object;
}

Json to_value(const Stats& stats) {
  Json object;
  object["median"] = number(stats.median);
  object["p05"] = number(stats.p05);
  object["p95"] = number(stats.p95);
  object["mean"] = number(stats.mean);
  object["stdev"] = number(stats.stdev);
  object["ci95"] = interval(stats.ci95_low, stats.ci95_high);
  object["n"] = stats.n;
  object["stop"] = text(stats.stop);
  return object;
}

Json to_value(const Rate& rate) {
  Json object;
  object["tflops"] = number(rate.tflops);
  object["gb_per_s"] = number(rate.gb_per_s);
  object["items_per_s"] = number(rate.items_per_s);
  object["algbw_gb_per_s"] = number(rate.algbw_gb_per_s);
  object["busbw_gb_per_s"] = number(rate.busbw_gb_per_s);
  return object;
}

Json to_value(const Peak& peak) {
  Json object;
  object["dtype"] = text(peak.dtype);
  object["datasheet_pct"] = number(peak.datasheet_pct);
  object["at_clock_pct"] = number(peak.at_clock_pct);
  object["memory_pct"] = number(peak.memory_pct);
  object["of_measured_roof_pct"] = number(peak.of_measured_roof_pct);
  object["bound"] = text(peak.bound);
  object["link_pct"] = number(peak.link_pct);
  object["clock_mhz"] = number(peak.clock_mhz);
  object["clock_source"] = text(peak.clock_source);
  return object;
}

/// What was measured. A case that did not run has no numbers, whatever its struct still holds.
void add_measured(Json& object, const Result& result) {
  const bool ran = result.status != Status::skipped && result.status != Status::not_run;
  const auto& measurement = result.measurement;
  object["sampling"] = ran && measurement ? sampling_value(*measurement) : Json();
  object["flop_rule"] = ran && result.work ? text(result.work->flop_rule) : Json();
  object["check"] = ran && result.check ? to_value(*result.check) : Json();
  object["work"] = ran && result.work ? to_value(*result.work) : Json();
  object["memory"] = {{"peak_bytes", ran ? optional(result.peak_memory_bytes) : Json()},
                      {"workspace_bytes", ran ? optional(result.workspace_bytes) : Json()}};
  object["time_s"] = ran && result.time_s ? to_value(*result.time_s) : Json();
  object["repeats"] =
      ran && result.repeats ? Json{{"medians_s", numbers(result.repeats->medians_s)}} : Json();
  object["samples_s"] = ran && measurement ? numbers(measurement->samples_s) : Json();
  object["rate"] = to_value(ran ? result.rate : Rate{});
  object["peak"] = to_value(ran ? result.peak : Peak{});
  object["telemetry"] = ran && result.telemetry
                            ? to_value(*result.telemetry, measurement ? measurement->begin_s : 0)
                            : Json();
  object["model"] = nullptr;
}

Json to_value(const Result& result) {
  Json object;
  object["id"] = result.id;
  object["workload"] = result.workload;
  object["params"] = Json::object();
  for (const auto& [key, value] : result.params) object["params"][key] = param_value(value);
  object["device"] = result.device;
  object["impl"] = text(result.impl);
  object["algorithm"] = text(result.algorithm);
  object["compute_type"] = text(result.compute_type);
  object["emulated"] = result.emulated;
  object["status"] = std::string(to_string(result.status));
  object["reason"] = result.status == Status::ok ? Json()
                                                 : Json{{"code", text(result.reason.code)},
                                                        {"message", text(result.reason.message)}};
  object["warnings"] = result.warnings;
  object["remarks"] = result.remarks;
  object["reproduce"] = text(result.reproduce);
  object["cache"] = text(result.cache);
  object["data"] = {{"dist", text(result.data_dist)}, {"seed", result.data_seed}};
  object["mode"] = text(result.mode);
  add_measured(object, result);
  return object;
}

Json to_value(const Comparison& comparison) {
  Json object;
  object["a"] = comparison.a;
  object["b"] = comparison.b;
  object["device"] = comparison.device;
  object["ratio"] = number(comparison.ratio);
  object["ci95"] = interval(comparison.ci95_low, comparison.ci95_high);
  object["verdict"] = text(comparison.verdict);
  return object;
}

Json to_value(const Summary& summary) {
  Json object;
  object["ok"] = summary.ok;
  object["skipped"] = summary.skipped;
  object["failed"] = summary.failed;
  object["wrong"] = summary.wrong;
  object["timeout"] = summary.timeout;
  object["not_run"] = summary.not_run;
  object["wall_s"] = number(summary.wall_s);
  return object;
}

Json libraries_value(const std::map<std::string, LibraryVersion>& libraries) {
  Json object;
  for (const char* key : kLibraryKeys) object[key] = {{"version", nullptr}, {"path", nullptr}};
  for (const auto& [key, library] : libraries) {
    object[key] = {{"version", text(library.version)}, {"path", text(library.path)}};
  }
  return object;
}

/// Everything before `results`.
Json header_value(const Report& report) {
  Json object;
  object["schema"] = kReportSchema;
  object["created"] = text(report.created);
  object["complete"] = report.complete;
  object["command"] = report.command;
  const BuildInfo& build = report.gpubench;
  object["gpubench"] = {
      {"version", text(build.version)},
      {"git", text(build.git)},
      {"binary_sha256", text(build.binary_sha256)},
      {"build",
       {{"cuda", text(build.cuda)}, {"compiler", text(build.compiler)}, {"archs", build.archs}}}};
  object["host"] = {{"name", text(report.host.name)},
                    {"cpu", text(report.host.cpu)},
                    {"cores", positive(report.host.cores)},
                    {"memory_bytes", positive(report.host.memory_bytes)},
                    {"os", text(report.host.os)}};
  object["libraries"] = libraries_value(report.libraries);
  object["world"] = {{"size", report.world_size}, {"nodes", report.world_nodes}};
  object["environment"] = Json::object();
  for (const auto& [key, value] : report.environment) object["environment"][key] = value;
  object["devices"] = Json::array();
  for (const ReportDevice& device : report.devices) object["devices"].push_back(to_value(device));
  object["suite"] = {{"name", text(report.suite.name)},
                     {"sha256", text(report.suite.sha256)},
                     {"policy", numbers(report.suite.policy)}};
  return object;
}

/// Indents by one space; an array of plain values (thousands of samples) stays on its line.
void write_indented(const Json& value, std::size_t depth, std::string& out) {
  const bool container = value.is_structured() && !value.empty();
  bool flat = !container;
  if (value.is_array()) {
    flat = true;
    for (const Json& element : value) flat = flat && !element.is_structured();
  }
  if (flat) {
    out += dump(value);
    return;
  }
  out += value.is_object() ? '{' : '[';
  bool first = true;
  for (const auto& item : value.items()) {
    out += first ? "\n" : ",\n";
    first = false;
    out.append(depth + 1, ' ');
    if (value.is_object()) out += dump(item.key()) + ": ";
    write_indented(item.value(), depth + 1, out);
  }
  out += '\n';
  out.append(depth, ' ');
  out += value.is_object() ? '}' : ']';
}

}  // namespace

std::string to_json(const Report& report) {
  Json object = header_value(report);
  object["results"] = Json::array();
  for (const Result& result : report.results) object["results"].push_back(to_value(result));
  object["comparisons"] = Json::array();
  for (const Comparison& comparison : report.comparisons) {
    object["comparisons"].push_back(to_value(comparison));
  }
  object["summary"] = report.summary ? to_value(*report.summary) : Json();
  std::string out;
  write_indented(object, 0, out);
  out += '\n';
  return out;
}

std::string devices_to_json(std::span<const ReportDevice> devices, const std::string& driver) {
  Json object;
  object["driver"] = driver.empty() ? Json() : text(driver);
  object["devices"] = Json::array();
  for (const ReportDevice& device : devices) object["devices"].push_back(to_value(device));
  std::string out;
  write_indented(object, 0, out);
  return out;
}

std::string specs_to_json(std::span<const DeviceSpec> specs) {
  Json list = Json::array();
  for (const DeviceSpec& spec : specs) {
    Json object;
    object["id"] = text(spec.id);
    object.update(to_value(spec));
    list.push_back(std::move(object));
  }
  std::string out;
  write_indented(list, 0, out);
  return out;
}

std::string result_line(const Result& result) { return dump(to_value(result)); }

std::string header_line(const Report& report) {
  Json header = header_value(report);
  header["complete"] = false;
  return dump(header);
}

}  // namespace gpubench
