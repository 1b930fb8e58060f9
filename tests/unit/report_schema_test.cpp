// SPDX-License-Identifier: Apache-2.0
// Reports against configs/schema/report.schema.json, by scripts/validate_report.py.
#include <gtest/gtest.h>
#include <sys/wait.h>

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

  /// Exit code of the validator: 0 valid, 1 not.
  int validate(const std::string& text) {
    const auto path = folder_ / "report.json";
    std::ofstream(path) << text;
    const std::string command = python_ +
                                " '" GPUBENCH_SOURCE_DIR "/scripts/validate_report.py' '" +
                                path.string() + "' > '" + (folder_ / "log").string() + "' 2>&1";
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string log() const {
    std::ifstream file(folder_ / "log");
    return {std::istreambuf_iterator<char>(file), {}};
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
  EXPECT_EQ(validate(to_json(mixed_report())), 0) << log();
  EXPECT_EQ(validate(to_json(Report{})), 0) << log();
  EXPECT_EQ(validate(to_json(sample_report({}, ReportDevice{}))), 0) << log();
  Result emulated = sample_gemm(0.1);
  emulated.emulated = true;
  derive(emulated, sample_cpu());
  EXPECT_EQ(validate(to_json(sample_report({emulated}, sample_cpu()))), 0) << log();
}

TEST_F(ReportSchema, RefusesEveryMissingKey) {
  const json good = json::parse(to_json(mixed_report()));
  json bad = good;
  for (const char* key : {"schema", "devices", "summary", "world"}) {
    bad = good;
    bad.erase(key);
    EXPECT_EQ(validate(bad.dump()), 1) << key;
  }
  for (const char* key : {"id", "status", "rate", "peak", "samples_s", "model"}) {
    bad = good;
    bad["results"][0].erase(key);
    EXPECT_EQ(validate(bad.dump()), 1) << key;
  }
  bad = good;
  bad["devices"][0]["spec"]["dense_tflops"].erase("bf16");
  EXPECT_EQ(validate(bad.dump()), 1);
}

TEST_F(ReportSchema, RefusesNumbersWhereNothingWasMeasuredAndWrongTypes) {
  const json good = json::parse(to_json(mixed_report()));
  const auto code = [&](const char* pointer, const json& value) {
    json bad = good;
    bad[json::json_pointer(pointer)] = value;
    return validate(bad.dump());
  };
  EXPECT_EQ(code("/results/3/rate/tflops", 1.0), 1);                      // skipped
  EXPECT_EQ(code("/results/4/time_s", good["results"][0]["time_s"]), 1);  // not_run
  EXPECT_EQ(code("/results/0/reason", good["results"][1]["reason"]), 1);  // ok
  EXPECT_EQ(code("/results/1/reason", nullptr), 1);                       // wrong
  EXPECT_EQ(code("/results/0/rate/tflops", "700"), 1);
  EXPECT_EQ(code("/results/0/time_s/median", 0), 1);
  EXPECT_EQ(code("/schema", "gpubench.report/2"), 1);
  EXPECT_EQ(code("/environment/HOME", "/root"), 1);
  EXPECT_EQ(code("/results/0/typo", 1), 1);
  EXPECT_EQ(code("/results/0/params/m", 1), 0) << log();
}

}  // namespace
}  // namespace gpubench
