// SPDX-License-Identifier: Apache-2.0
// Reports against configs/schema/report.schema.json, by Python's jsonschema.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "analysis/derive.h"
#include "report/writer.h"
#include "tests/unit/report_samples.h"

namespace gpubench {
namespace {

using nlohmann::json;

/// Arguments: the schema, a file with one report per line. Prints a line for each.
constexpr const char* kValidator = R"(
import json, sys, jsonschema
schema = json.load(open(sys.argv[1]))
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
for line in open(sys.argv[2], encoding="utf-8"):
    error = next(validator.iter_errors(json.loads(line)), None)
    print("valid" if error is None else error.message[:200])
)";

class ReportSchema : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::path(testing::TempDir()) / ("report_schema_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    // Any Python that has the module: a virtual environment's may lack it.
    for (const char* python : {"python3", "/usr/bin/python3"}) {
      const std::string probe = std::string(python) + " -c 'import jsonschema' 2> /dev/null";
      if (std::system(probe.c_str()) == 0) {
        python_ = python;
        return;
      }
    }
    GTEST_SKIP() << "no python3 with jsonschema (Debian: python3-jsonschema)";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// Which of the reports the schema accepts; one process for all, since it takes long to start.
  std::vector<bool> valid(const std::vector<std::string>& reports) {
    const std::string lines = (folder_ / "reports.jsonl").string();
    const std::string verdicts = (folder_ / "verdicts").string();
    std::ofstream file(lines);
    for (const std::string& report : reports) file << json::parse(report).dump() << "\n";
    file.close();
    const std::string command = python_ + " -c '" + kValidator +
                                "' '" GPUBENCH_SOURCE_DIR "/configs/schema/report.schema.json' '" +
                                lines + "' > '" + verdicts + "'";
    EXPECT_EQ(std::system(command.c_str()), 0) << "the validator itself failed";
    std::vector<bool> accepted;
    std::ifstream results(verdicts);
    for (std::string line; std::getline(results, line);) accepted.push_back(line == "valid");
    return accepted;
  }

 private:
  std::filesystem::path folder_;
  std::string python_;
};

Report mixed_report() {
  Result ok = sample_gemm(700);
  derive(ok, sample_h200());
  ok.remarks = {"power-capped"};
  Result wrong = sample_unlucky(Status::wrong, "E_WRONG_RESULT", "error nan above 0.01");
  wrong.check->passed = false;
  wrong.check->error = std::nan("");
  Result failed = sample_unlucky(Status::failed, "E_CUDA", "illegal address");
  failed.measurement.reset();
  failed.telemetry.reset();
  Report report = sample_report(
      {ok, wrong, failed, sample_unlucky(Status::skipped, "E_OOM_PLANNED", "needs 96 GiB"),
       sample_unlucky(Status::not_run, "E_INTERRUPTED", "interrupted before"),
       sample_unlucky(Status::timeout, "E_HANG", "no sample in 60 s")});
  report.comparisons = {{ok.id, failed.id, 0, 1.1, std::nullopt, std::nullopt, "same"}};
  report.summary = Summary{1, 1, 1, 1, 1, 1, 10};
  return report;
}

TEST_F(ReportSchema, AcceptsWhatTheWriterWrites) {
  Result emulated = sample_gemm(0.1);
  emulated.emulated = true;
  derive(emulated, sample_cpu());
  EXPECT_EQ(
      valid({to_json(mixed_report()), to_json(Report{}), to_json(sample_report({}, ReportDevice{})),
             to_json(sample_report({emulated}, sample_cpu()))}),
      std::vector<bool>(4, true));
}

TEST_F(ReportSchema, RefusesEveryMissingKey) {
  const json good = json::parse(to_json(mixed_report()));
  std::vector<std::string> bad;
  for (const char* place : {"",
                            "/gpubench",
                            "/gpubench/build",
                            "/host",
                            "/world",
                            "/suite",
                            "/summary",
                            "/devices/0",
                            "/devices/0/pcie",
                            "/devices/0/spec",
                            "/devices/0/spec/dense_tflops",
                            "/results/0",
                            "/results/0/data",
                            "/results/0/sampling",
                            "/results/0/check",
                            "/results/0/work",
                            "/results/0/memory",
                            "/results/0/time_s",
                            "/results/0/rate",
                            "/results/0/peak",
                            "/results/0/telemetry",
                            "/results/0/telemetry/series",
                            "/results/1/reason",
                            "/comparisons/0"}) {
    const json::json_pointer pointer(place);
    for (const auto& item : good[pointer].items()) {
      json copy = good;
      copy[pointer].erase(item.key());
      bad.push_back(copy.dump());
    }
  }
  EXPECT_GT(bad.size(), 150U);
  EXPECT_EQ(valid(bad), std::vector<bool>(bad.size(), false));
}

TEST_F(ReportSchema, RefusesNumbersWhereNothingWasMeasuredAndWrongTypes) {
  const json good = json::parse(to_json(mixed_report()));
  const auto changed = [&](const char* pointer, const json& value) {
    json copy = good;
    copy[json::json_pointer(pointer)] = value;
    return copy.dump();
  };
  const std::vector<std::string> bad = {
      changed("/results/3/rate/tflops", 1.0),                      // skipped
      changed("/results/4/time_s", good["results"][0]["time_s"]),  // not_run
      changed("/results/0/reason", good["results"][1]["reason"]),  // ok
      changed("/results/1/reason", nullptr),                       // wrong
      changed("/results/0/time_s", nullptr),                       // ok
      changed("/results/0/rate/tflops", "700"),
      changed("/results/0/time_s/median", 0),
      changed("/results/0/status", "fine"),
      changed("/results/0/params/m", 1.5),
      changed("/schema", "gpubench.report/2"),
      changed("/environment/HOME", "/root"),
      changed("/results/0/typo", 1)};
  EXPECT_EQ(valid(bad), std::vector<bool>(bad.size(), false));
  EXPECT_EQ(valid({changed("/results/0/params/m", 1)}), std::vector<bool>{true});
}

}  // namespace
}  // namespace gpubench
