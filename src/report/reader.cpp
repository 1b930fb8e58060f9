// SPDX-License-Identifier: Apache-2.0
#include "report/reader.h"

#include <charconv>

#include "report/json_node.h"
#include "report/schema.h"
#include "util/file.h"
#include "util/json_file.h"

namespace gpubench {
namespace {

void check_schema(const JsonNode& root) {
  const JsonNode node = root["schema"];
  if (node.is_null()) node.fail("missing: this is not a gpubench report");
  const std::string schema = node.text();
  const std::string ours = kReportSchema;
  if (schema == ours || schema.rfind(ours + ".", 0) == 0) return;
  node.fail("'" + schema + "' can't be read; this gpubench reads '" + ours +
            "': use the version that wrote the report");
}

std::optional<std::uint32_t> hex(const JsonNode& node) {
  const std::string text = node.text();
  if (text.empty()) return std::nullopt;
  std::uint32_t value = 0;
  const char* end = text.data() + text.size();
  const bool prefixed = text.rfind("0x", 0) == 0;
  const auto parsed = std::from_chars(text.data() + (prefixed ? 2 : 0), end, value, 16);
  if (!prefixed || parsed.ec != std::errc() || parsed.ptr != end) {
    node.fail("expected a number such as \"0x2335\"");
  }
  return value;
}

/// "sm_90" or "cpu".
void read_arch(const JsonNode& node, DeviceInfo& info) {
  const std::string arch = node.text();
  if (arch == "cpu") {
    info.kind = DeviceKind::cpu;
    return;
  }
  info.kind = DeviceKind::cuda;
  int cc = 0;
  const char* end = arch.data() + arch.size();
  const bool prefixed = arch.rfind("sm_", 0) == 0;
  const auto parsed = std::from_chars(arch.data() + (prefixed ? 3 : 0), end, cc);
  if (!prefixed || parsed.ec != std::errc() || parsed.ptr != end || cc < 10) {
    node.fail("expected \"cpu\" or \"sm_90\" and the like");
  }
  info.cc_major = cc / 10;
  info.cc_minor = cc % 10;
}

DeviceSpec read_spec(const JsonNode& node, std::string id) {
  DeviceSpec spec;
  spec.id = std::move(id);
  spec.marketing_name = node["name"].text();
  spec.dense_tflops = node["dense_tflops"].real_map();
  spec.flops_per_clk_per_sm = node["flops_per_clk_per_sm"].real_map();
  spec.memory_gb_per_s = node["memory_gb_per_s"].optional_real();
  spec.nvlink_gb_per_s = node["nvlink_gb_per_s"].optional_real();
  spec.pcie_gb_per_s = node["pcie_gb_per_s"].optional_real();
  spec.tdp_w = node["tdp_w"].optional_real();
  spec.sm_count = node["sm_count"].optional_integer<int>();
  spec.sources = node["sources"].texts();
  return spec;
}

ReportDevice read_device(const JsonNode& node) {
  ReportDevice device;
  DeviceInfo& info = device.info;
  info.index = node["index"].integer<int>();
  info.name = node["name"].text();
  info.uuid = node["uuid"].text();
  info.pci_id = node["pci_id"].text();
  info.pci_device = hex(node["pci_device"]);
  info.pci_subsystem = hex(node["pci_subsystem"]);
  read_arch(node.required("arch"), info);
  info.sm_count = node["sm_count"].integer<int>();
  info.memory_bytes = node["memory_bytes"].integer<std::uint64_t>();
  info.l2_bytes = node["l2_bytes"].integer<std::uint64_t>();
  info.max_sm_clock_mhz = node["max_sm_clock_mhz"].optional_real();
  info.memory_clock_mhz = node["memory_clock_mhz"].optional_real();
  info.bus_bits = node["bus_bits"].optional_integer<int>();
  info.power_limit_w = node["power_limit_w"].optional_real();
  info.default_power_limit_w = node["default_power_limit_w"].optional_real();
  const JsonNode pcie = node["pcie"];
  info.pcie_gen = pcie["gen"].optional_integer<int>();
  info.pcie_width = pcie["width"].optional_integer<int>();
  info.pcie_max_gen = pcie["max_gen"].optional_integer<int>();
  info.pcie_max_width = pcie["max_width"].optional_integer<int>();
  info.ecc_enabled = node["ecc"]["enabled"].optional_boolean();
  info.mig = node["mig"].optional_boolean();
  info.nvlinks = node["nvlinks"].optional_integer<int>();
  info.other_processes = node["other_processes"].optional_integer<int>();
  info.virtualization = node["virtualization"].text();
  info.compute_mode = node["compute_mode"].text();
  device.match.rule = node["match_rule"].text();
  if (!node["spec"].is_null()) device.match.spec = read_spec(node["spec"], node["sku"].text());
  return device;
}

Status read_status(const JsonNode& node) {
  const std::string text = node.text();
  for (const Status status : {Status::ok, Status::skipped, Status::failed, Status::wrong,
                              Status::timeout, Status::not_run}) {
    if (text == to_string(status)) return status;
  }
  node.fail("unknown status '" + text + "'");
}

std::map<std::string, std::string> read_params(const JsonNode& node) {
  std::map<std::string, std::string> params;
  for (const auto& [key, value] : node.members()) {
    params[key] = value.is_number() ? std::to_string(value.integer<std::int64_t>()) : value.text();
  }
  return params;
}

Measurement read_measurement(const JsonNode& result) {
  const JsonNode sampling = result["sampling"];
  Measurement measurement;
  measurement.samples_s = result["samples_s"].reals();
  measurement.kind = sampling["kind"].text();
  measurement.batch = sampling["batch"].integer<std::int64_t>(1);
  measurement.dropped = sampling["dropped"].integer<std::int64_t>();
  measurement.warmup_s = sampling["warmup_s"].real();
  measurement.end_s =
      sampling["duration_s"].real();  // the time base of a report is the first sample
  measurement.launch_bound = sampling["launch_bound"].boolean(false);
  measurement.timer_resolution_s = sampling["timer_resolution_s"].optional_real().value_or(0);
  measurement.block_s = sampling["block_s"].optional_real();
  if (!sampling["slowed"].is_null()) measurement.slowed.emplace();
  for (const JsonNode& run : sampling["slowed"].elements()) {
    const auto ends = run.elements();
    if (ends.size() != 2) run.fail("expected two indices of samples");
    measurement.slowed->emplace_back(ends[0].integer<std::int64_t>(),
                                     ends[1].integer<std::int64_t>());
  }
  measurement.stop = result["time_s"]["stop"].text();
  return measurement;
}

/// Both ends of "ci95": null or two numbers.
void read_interval(const JsonNode& node, std::optional<double>& low, std::optional<double>& high) {
  const auto ends = node.elements();
  if (ends.empty()) return;
  if (ends.size() != 2) node.fail("expected null or two numbers");
  low = ends[0].optional_real();
  high = ends[1].optional_real();
}

Stats read_stats(const JsonNode& node) {
  Stats stats;
  stats.median = node["median"].real();
  stats.p05 = node["p05"].real();
  stats.p95 = node["p95"].real();
  stats.mean = node["mean"].real();
  stats.stdev = node["stdev"].optional_real();
  read_interval(node["ci95"], stats.ci95_low, stats.ci95_high);
  stats.n = node["n"].integer<std::int64_t>();
  stats.stop = node["stop"].text();
  return stats;
}

Check read_check(const JsonNode& node) {
  Check check;
  check.passed = node["passed"].boolean(false);
  check.error = node["error"].real();
  check.tolerance = node["tolerance"].real();
  check.reference = node["reference"].text();
  check.detail = node["detail"].text();
  return check;
}

Work read_work(const JsonNode& node, const JsonNode& rule) {
  Work work;
  work.flops = node["flops"].optional_real().value_or(0);
  work.bytes = node["bytes"].optional_real().value_or(0);
  work.items = node["items"].optional_real().value_or(0);
  work.item_name = node["item_name"].text();
  work.flop_rule = rule.text();
  work.message_bytes = node["message_bytes"].optional_real().value_or(0);
  work.bus_factor = node["bus_factor"].optional_real();
  // Reports of 0.1.0 have only work whose bytes cross the memory.
  if (!node["bytes_over"].is_null()) work.bytes_over = node["bytes_over"].text();
  return work;
}

std::vector<TelemetryReading> read_series(const JsonNode& node) {
  const auto times = node["t_s"].elements();
  const auto column = [&](const char* key) {
    const JsonNode child = node[key];
    auto values = child.elements();
    if (!values.empty() && values.size() != times.size()) {
      child.fail("expected as many elements as t_s has");
    }
    return values;
  };
  const auto sm_clocks = column("sm_clock_mhz");
  const auto memory_clocks = column("memory_clock_mhz");
  const auto powers = column("power_w");
  const auto temperatures = column("temperature_c");
  const auto reasons = column("event_reasons");
  std::vector<TelemetryReading> series(times.size());
  for (std::size_t i = 0; i < times.size(); ++i) {
    series[i].t_s = times[i].real();
    if (!sm_clocks.empty()) series[i].sm_clock_mhz = sm_clocks[i].optional_real();
    if (!memory_clocks.empty()) series[i].memory_clock_mhz = memory_clocks[i].optional_real();
    if (!powers.empty()) series[i].power_w = powers[i].optional_real();
    if (!temperatures.empty()) series[i].temperature_c = temperatures[i].optional_real();
    if (!reasons.empty()) series[i].event_reasons = reasons[i].optional_integer<std::uint64_t>();
  }
  return series;
}

Telemetry read_telemetry(const JsonNode& node) {
  Telemetry telemetry;
  telemetry.sm_clock_median_mhz = node["sm_clock_mhz"]["median"].optional_real();
  telemetry.sm_clock_min_mhz = node["sm_clock_mhz"]["min"].optional_real();
  telemetry.sm_clock_counted_mhz = node["sm_clock_mhz"]["counted"].optional_real();
  telemetry.power_median_w = node["power_w"].optional_real();
  telemetry.energy_j_per_iteration = node["energy_j_per_iteration"].optional_real();
  telemetry.temperature_max_c = node["temperature_c"].optional_real();
  telemetry.power_by_energy_w = node["power_by_energy_w"].optional_real();
  const auto readings = [&](const char* key) {
    return node[key].is_null() ? std::nullopt : std::optional(node[key].real_map());
  };
  telemetry.throttle = readings("throttle");
  telemetry.throttled_s = readings("throttled_s");
  telemetry.errors = readings("errors");
  telemetry.gpm = readings("gpm");
  telemetry.pcie_gen = node["pcie_gen"].optional_integer<int>();
  telemetry.series = read_series(node["series"]);
  return telemetry;
}

void read_measured(const JsonNode& node, Result& result) {
  if (!node["sampling"].is_null() || !node["samples_s"].is_null()) {
    result.measurement = read_measurement(node);
  }
  if (!node["check"].is_null()) result.check = read_check(node["check"]);
  if (!node["work"].is_null()) result.work = read_work(node["work"], node["flop_rule"]);
  result.peak_memory_bytes = node["memory"]["peak_bytes"].optional_integer<std::uint64_t>();
  result.workspace_bytes = node["memory"]["workspace_bytes"].optional_integer<std::uint64_t>();
  if (!node["time_s"].is_null()) result.time_s = read_stats(node["time_s"]);
  if (!node["repeats"].is_null()) {
    result.repeats = Repeats{.medians_s = node["repeats"]["medians_s"].reals()};
  }
  const JsonNode rate = node["rate"];
  result.rate = {rate["tflops"].optional_real(), rate["gb_per_s"].optional_real(),
                 rate["items_per_s"].optional_real(), rate["algbw_gb_per_s"].optional_real(),
                 rate["busbw_gb_per_s"].optional_real()};
  const JsonNode peak = node["peak"];
  result.peak = {peak["dtype"].text(),
                 peak["datasheet_pct"].optional_real(),
                 peak["at_clock_pct"].optional_real(),
                 peak["memory_pct"].optional_real(),
                 peak["of_measured_roof_pct"].optional_real(),
                 peak["bound"].text(),
                 peak["link_pct"].optional_real(),
                 peak["clock_mhz"].optional_real(),
                 peak["clock_source"].text()};
  if (!node["telemetry"].is_null()) result.telemetry = read_telemetry(node["telemetry"]);
}

Result read_result(const JsonNode& node) {
  Result result;
  result.id = node.required("id").text();
  result.workload = node.required("workload").text();
  result.params = read_params(node["params"]);
  result.device = node["device"].integer<int>();
  result.impl = node["impl"].text();
  result.algorithm = node["algorithm"].text();
  result.compute_type = node["compute_type"].text();
  result.emulated = node["emulated"].boolean(false);
  result.status = read_status(node.required("status"));
  result.reason = {node["reason"]["code"].text(), node["reason"]["message"].text()};
  result.warnings = node["warnings"].texts();
  result.remarks = node["remarks"].texts();
  result.reproduce = node["reproduce"].text();
  result.cache = node["cache"].text();
  result.data_dist = node["data"]["dist"].text();
  result.data_seed = node["data"]["seed"].integer<std::uint64_t>();
  result.mode = node["mode"].text();
  read_measured(node, result);
  return result;
}

Report read_header(const JsonNode& root) {
  check_schema(root);
  Report report;
  report.created = root["created"].text();
  report.complete = root["complete"].boolean(false);
  report.command = root["command"].texts();
  const JsonNode build = root["gpubench"];
  report.gpubench = {build["version"].text(),           build["git"].text(),
                     build["binary_sha256"].text(),     build["build"]["cuda"].text(),
                     build["build"]["compiler"].text(), build["build"]["archs"].texts()};
  const JsonNode host = root["host"];
  report.host = {host["name"].text(), host["cpu"].text(), host["os"].text(),
                 host["cores"].integer<int>(), host["memory_bytes"].integer<std::uint64_t>()};
  for (const auto& [key, node] : root["libraries"].members()) {
    const LibraryVersion library{node["version"].text(), node["path"].text()};
    if (!library.version.empty() || !library.path.empty()) report.libraries[key] = library;
  }
  report.world_size = root["world"]["size"].integer<int>(1);
  report.world_nodes = root["world"]["nodes"].integer<int>(1);
  for (const auto& [key, node] : root["environment"].members()) {
    report.environment[key] = node.text();
  }
  for (const JsonNode& node : root["devices"].elements()) {
    report.devices.push_back(read_device(node));
  }
  const JsonNode suite = root["suite"];
  report.suite = {suite["name"].text(), suite["sha256"].text(), suite["policy"].real_map()};
  return report;
}

Comparison read_comparison(const JsonNode& node) {
  Comparison comparison;
  comparison.a = node["a"].text();
  comparison.b = node["b"].text();
  comparison.device = node["device"].integer<int>();
  comparison.ratio = node["ratio"].real();
  read_interval(node["ci95"], comparison.ci95_low, comparison.ci95_high);
  comparison.verdict = node["verdict"].text();
  return comparison;
}

Summary read_summary(const JsonNode& node) {
  Summary summary;
  summary.ok = node["ok"].integer<int>();
  summary.skipped = node["skipped"].integer<int>();
  summary.failed = node["failed"].integer<int>();
  summary.wrong = node["wrong"].integer<int>();
  summary.timeout = node["timeout"].integer<int>();
  summary.not_run = node["not_run"].integer<int>();
  summary.wall_s = node["wall_s"].real();
  return summary;
}

}  // namespace

Report read_report(const std::string& path) { return parse_report(read_file(path), path); }

Report parse_report(std::string_view text, std::string_view origin) {
  const nlohmann::json value = parse_json(text, origin);
  const JsonNode root(value, origin);
  Report report = read_header(root);
  for (const JsonNode& node : root.required("results").elements()) {
    report.results.push_back(read_result(node));
    const int device = report.results.back().device;
    if (device < 0 || device >= static_cast<int>(report.devices.size())) {
      node["device"].fail("there is no such device in 'devices'");
    }
  }
  for (const JsonNode& node : root["comparisons"].elements()) {
    report.comparisons.push_back(read_comparison(node));
  }
  if (!root["summary"].is_null()) report.summary = read_summary(root["summary"]);
  return report;
}

Result parse_result(std::string_view line, std::string_view origin) {
  const nlohmann::json value = parse_json(line, origin);
  return read_result(JsonNode(value, origin));
}

Report parse_header(std::string_view line, std::string_view origin) {
  const nlohmann::json value = parse_json(line, origin);
  return read_header(JsonNode(value, origin));
}

}  // namespace gpubench
