// SPDX-License-Identifier: Apache-2.0
// The report as JSON and back.
#include <gtest/gtest.h>

#include <clocale>
#include <limits>
#include <locale>
#include <nlohmann/json.hpp>

#include "analysis/derive.h"
#include "report/reader.h"
#include "report/writer.h"
#include "tests/unit/report_samples.h"

namespace gpubench {
namespace {

using nlohmann::json;

json written(const Report& report) { return json::parse(to_json(report)); }

std::string error_of(std::string_view text) {
  try {
    parse_report(text, "r.json");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

Report full_report() {
  Result gemm = sample_gemm(700);
  derive(gemm, sample_h200());
  gemm.remarks = {"power-capped"};
  gemm.work->bytes_over = "pcie_duplex";
  gemm.peak.link_pct = 88.5;
  gemm.peak.clock_source = "cycles";
  gemm.repeats = Repeats{.medians_s = {1e-3, 2e-3}};
  gemm.telemetry->power_by_energy_w = 690;
  gemm.telemetry->energy_j_per_iteration = 1.1;
  gemm.telemetry->throttled_s = {{"power", 0.5}};
  gemm.telemetry->errors = {{"ecc_corrected", 0}};
  gemm.telemetry->gpm = {{"tensor_util_pct", 70}};
  gemm.telemetry->pcie_gen = 5;
  ReportDevice device = sample_h200();
  device.info.nvlinks = 18;
  device.info.other_processes = 1;
  device.info.virtualization = "passthrough";
  Report report = sample_report(
      {gemm, sample_unlucky(Status::failed, "E_CUDA", "an illegal address; run compute-sanitizer")},
      device);
  report.comparisons = {{gemm.id, "ops/gemm?impl=own", 0, 1.25, 1.2, 1.3, "faster"}};
  report.summary = Summary{1, 0, 1, 0, 0, 0, 12.5};
  return report;
}

TEST(ReportJson, RoundTripKeepsEverything) {
  const Report report = full_report();
  const Report back = parse_report(to_json(report), "r.json");
  EXPECT_EQ(to_json(back), to_json(report));
  ASSERT_EQ(back.results.size(), 2U);
  const Result& result = back.results[0];
  EXPECT_EQ(result.params, report.results[0].params);
  EXPECT_EQ(result.measurement->samples_s, report.results[0].measurement->samples_s);
  EXPECT_EQ(result.measurement->stop, "noise");
  EXPECT_EQ(result.measurement->warmup_s, 1.5);
  EXPECT_EQ(result.work->flop_rule, "gemm:2mnk");
  EXPECT_EQ(result.time_s->median, report.results[0].time_s->median);
  EXPECT_EQ(result.peak.bound, "compute");
  EXPECT_EQ(result.work->bytes_over, "pcie_duplex");
  EXPECT_EQ(result.peak.link_pct, 88.5);
  EXPECT_EQ(result.peak.clock_mhz, report.results[0].peak.clock_mhz);
  EXPECT_EQ(result.peak.clock_source, "cycles");
  EXPECT_EQ(result.telemetry->series.size(), 3U);
  EXPECT_EQ(result.telemetry->series[1].event_reasons, 4U);
  EXPECT_FALSE(result.telemetry->series[2].power_w.has_value());
  EXPECT_EQ(result.repeats->medians_s, report.results[0].repeats->medians_s);
  EXPECT_EQ(result.telemetry->gpm, report.results[0].telemetry->gpm);
  EXPECT_EQ(result.telemetry->errors, report.results[0].telemetry->errors);
  EXPECT_EQ(result.telemetry->throttled_s, report.results[0].telemetry->throttled_s);
  EXPECT_EQ(back.devices[0].info.nvlinks, 18);
  EXPECT_EQ(back.devices[0].info.virtualization, "passthrough");
  const DeviceInfo& info = back.devices[0].info;
  EXPECT_EQ(info.arch(), "sm_90");
  EXPECT_EQ(info.pci_device, 0x2335U);
  EXPECT_EQ(info.pci_subsystem, 0x18be10deU);
  EXPECT_EQ(back.devices[0].match.spec->dense_tflops, sample_h200().match.spec->dense_tflops);
  EXPECT_EQ(back.comparisons[0].ci95_high, 1.3);
  EXPECT_EQ(back.summary->failed, 1);
  EXPECT_EQ(back.host.cores, 16);
}

TEST(ReportJson, WorkOfACollectiveKeepsItsFactor) {
  Report report = full_report();
  EXPECT_EQ(to_json(report).find("message_bytes"), std::string::npos) << "only of collectives";
  report.results[0].work->message_bytes = 1 << 20;
  const Report one = parse_report(to_json(report), "r.json");
  EXPECT_EQ(one.results[0].work->message_bytes, 1 << 20);
  EXPECT_FALSE(one.results[0].work->bus_factor.has_value());
  report.results[0].work->bus_factor = 1.75;
  const Report eight = parse_report(to_json(report), "r.json");
  EXPECT_EQ(eight.results[0].work->bus_factor, 1.75);
}

TEST(ReportJson, TelemetryTimesCountFromTheFirstSample) {
  Result result = sample_gemm(700);
  result.measurement->begin_s = 1000;
  result.measurement->end_s = 1002;
  result.telemetry->series = {{1000.5, 1980, {}, {}, {}, {}}};
  const json object = written(sample_report({result}))["results"][0];
  EXPECT_EQ(object["telemetry"]["series"]["t_s"], json::array({0.5}));
  EXPECT_EQ(object["sampling"]["duration_s"], 2);
}

TEST(ReportJson, SamplesStayOnOneLine) {
  Result result = sample_gemm(700);
  result.measurement->samples_s = {0.5, 0.25};
  EXPECT_NE(to_json(sample_report({result})).find("\"samples_s\": [0.5,0.25]"), std::string::npos);
}

TEST(ReportJson, ParametersAreNumbersOnlyWhereCanonical) {
  Result result = sample_gemm(700);
  result.params = {{"a", "4096"}, {"b", "-1"}, {"c", "007"}, {"d", "1.5"},
                   {"e", "bf16"}, {"f", "-0"}, {"g", ""},    {"h", "99999999999999999999"},
                   {"i", "0"},    {"j", " 1"}, {"k", "1e3"}};
  const Report report = sample_report({result});
  const json params = written(report)["results"][0]["params"];
  EXPECT_EQ(params["a"], 4096);
  EXPECT_EQ(params["b"], -1);
  EXPECT_EQ(params["i"], 0);
  for (const char* key : {"c", "d", "e", "f", "g", "h", "j", "k"}) {
    EXPECT_TRUE(params[key].is_string()) << key;
  }
  EXPECT_EQ(parse_report(to_json(report), "r").results[0].params, result.params);
}

TEST(ReportJson, SkippedCaseHasNoNumbersWhateverItsStructHolds) {
  for (const Status status : {Status::skipped, Status::not_run}) {
    Result result = sample_unlucky(status, "E_OOM_PLANNED", "needs 96 GiB, 80 GiB are free");
    result.time_s = Stats{};
    result.rate.tflops = 700;
    result.peak.datasheet_pct = 70;
    const json object = written(sample_report({result}))["results"][0];
    for (const char* key : {"sampling", "check", "work", "time_s", "samples_s", "telemetry"}) {
      EXPECT_TRUE(object[key].is_null()) << key;
    }
    for (const char* key : {"memory", "rate", "peak"}) {
      for (const auto& item : object[key].items()) EXPECT_TRUE(item.value().is_null()) << key;
    }
    EXPECT_EQ(object["reason"]["code"], "E_OOM_PLANNED");
    EXPECT_EQ(object["params"]["m"], 8192);
  }
}

TEST(ReportJson, NonFiniteAndUnknownAreNull) {
  const double nan = std::nan("");
  const double infinity = std::numeric_limits<double>::infinity();
  Result result = sample_gemm(700);
  result.check->passed = false;
  result.check->error = nan;
  result.rate.tflops = infinity;
  result.measurement->samples_s = {0.5, nan, -infinity};
  Report report = sample_report({result}, ReportDevice{});
  report.host = {};
  const json object = written(report);
  EXPECT_TRUE(object["results"][0]["check"]["error"].is_null());
  EXPECT_TRUE(object["results"][0]["rate"]["tflops"].is_null());
  EXPECT_EQ(object["results"][0]["samples_s"], json::array({0.5, nullptr, nullptr}));
  EXPECT_TRUE(object["devices"][0]["memory_bytes"].is_null());
  EXPECT_TRUE(object["devices"][0]["spec"].is_null());
  EXPECT_TRUE(object["devices"][0]["ecc"]["enabled"].is_null());
  EXPECT_TRUE(object["host"]["cores"].is_null());
  EXPECT_TRUE(object["libraries"]["nccl"]["version"].is_null());
  EXPECT_TRUE(object["summary"].is_null());
  const Report back = parse_report(to_json(report), "r");
  EXPECT_TRUE(std::isnan(back.results[0].check->error));
  EXPECT_FALSE(back.results[0].check->passed);
  EXPECT_FALSE(back.devices[0].match.spec.has_value());
}

TEST(ReportJson, AnyBytesInStringsGiveValidJson) {
  Report report = full_report();
  report.devices[0].info.name = "GPU \xff\xfe \"quoted\" \\ \n\t\x01 \xF0\x9F\x9A\x80";
  report.environment["NCCL_\xc3\x28"] = "\xed\xa0\x80";  // an unpaired surrogate
  report.results[1].reason.message = std::string("a\0b", 3) + "\xc0\x80";
  const std::string text = to_json(report);
  const json object = json::parse(text);  // strict: throws for bytes that are not UTF-8
  EXPECT_NE(object["devices"][0]["name"].get<std::string>().find("\xF0\x9F\x9A\x80"),
            std::string::npos);
  EXPECT_EQ(to_json(parse_report(text, "r")), text);
}

class CommaPunctuation : public std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST(ReportJson, IsTheSameUnderAnyLocale) {
  const std::string expected = to_json(full_report());
  // The locale owns its facet.
  const std::locale before =
      std::locale::global(std::locale(std::locale::classic(), new CommaPunctuation));
  for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8"}) {
    if (std::setlocale(LC_ALL, name) != nullptr) break;  // where the machine has one
  }
  const std::string text = to_json(full_report());
  const Report back = parse_report(text, "r");
  std::locale::global(before);
  std::setlocale(LC_ALL, "C");
  EXPECT_EQ(text, expected);
  EXPECT_EQ(back.results[0].measurement->warmup_s, 1.5);
}

TEST(ReportReader, SaysWhereTextIsBroken) {
  const std::string text = to_json(full_report());
  for (const std::size_t size :
       {std::size_t{1}, text.size() / 3, text.size() / 2, text.size() - 3}) {
    EXPECT_EQ(error_of(text.substr(0, size)).rfind("r.json:", 0), 0U) << size;
  }
  EXPECT_EQ(error_of("").rfind("r.json", 0), 0U);
  EXPECT_NE(error_of("{\n \"schema\": oops}").find("r.json:2:"), std::string::npos);
}

TEST(ReportReader, RefusesWhatIsNotAReport) {
  EXPECT_NE(error_of("{}").find("not a gpubench report"), std::string::npos);
  EXPECT_NE(error_of("[]").find("expected an object"), std::string::npos);
  EXPECT_NE(error_of("3").find("expected an object"), std::string::npos);
  EXPECT_NE(error_of(R"({"schema": "gpubench.report/2"})").find("gpubench.report/2"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"schema": "gpubench.report/10"})").find("can't be read"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"schema": 1})").find("$.schema: expected a string, found number"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"schema": "gpubench.report/1"})").find("$.results: missing"),
            std::string::npos);
}

TEST(ReportReader, EmptyResultsAndUnknownKeysAreFine) {
  const Report report = parse_report(
      R"({"schema": "gpubench.report/1.7", "results": [], "later": {"x": [1]}})", "r.json");
  EXPECT_TRUE(report.results.empty());
  EXPECT_FALSE(report.complete);
}

TEST(ReportReader, NamesTheJsonPathOfAWrongType) {
  const json good = written(full_report());
  const auto broken = [&](const char* pointer, const json& value) {
    json bad = good;
    bad[json::json_pointer(pointer)] = value;
    return error_of(bad.dump());
  };
  EXPECT_EQ(broken("/results/0/time_s/median", "fast"),
            "r.json: $.results[0].time_s.median: expected a number, found string");
  EXPECT_EQ(broken("/results/1/id", nullptr).rfind("r.json: $.results[1].id: missing", 0), 0U);
  EXPECT_EQ(broken("/results/1/status", "splendid"),
            "r.json: $.results[1].status: unknown status 'splendid'");
  EXPECT_NE(broken("/results/1/device", 7).find("$.results[1].device"), std::string::npos);
  EXPECT_NE(broken("/results/1/device", -1).find("$.results[1].device"), std::string::npos);
  EXPECT_NE(broken("/results/0/samples_s/3", true).find("$.results[0].samples_s[3]"),
            std::string::npos);
  EXPECT_NE(broken("/results/0/time_s/ci95", json::array({1})).find("two numbers"),
            std::string::npos);
  EXPECT_NE(broken("/results/0/sampling/batch", 1.5).find("an integer"), std::string::npos);
  EXPECT_NE(broken("/results/0/memory/peak_bytes", -4).find("negative"), std::string::npos);
  EXPECT_NE(broken("/devices/0/sm_count", 1e30).find("$.devices[0].sm_count"), std::string::npos);
  EXPECT_NE(broken("/devices/0/sm_count", 99999999999).find("out of range"), std::string::npos);
  EXPECT_NE(broken("/devices/0/arch", "hopper").find("$.devices[0].arch"), std::string::npos);
  EXPECT_NE(broken("/devices/0/pci_device", "2335").find("0x2335"), std::string::npos);
  EXPECT_NE(broken("/results", 3).find("$.results: expected an array"), std::string::npos);
  EXPECT_NE(broken("/results/0/telemetry/series/power_w", json::array({1})).find("as many"),
            std::string::npos);
}

TEST(ReportReader, MissingFileIsAnErrorWithItsPath) {
  EXPECT_THROW(read_report("/no/such/report.json"), ConfigError);
}

}  // namespace
}  // namespace gpubench
