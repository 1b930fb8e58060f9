// SPDX-License-Identifier: Apache-2.0
// Every suite in configs/suites resolves against the real workloads, on a GPU and on the cpu
// device.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <set>

#include "core/suite.h"
#include "util/file.h"

namespace gpubench {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(GPUBENCH_SOURCE_DIR) / "configs" / "suites";

Suite load(const std::string& name, DeviceKind kind) {
  const std::string path = (kFolder / (name + ".json")).string();
  return parse_suite(read_file(path), path, kind,
                     [&](const std::string& included) { return load(included, kind); });
}

std::vector<Case> cases(const std::string& name, DeviceKind kind) {
  return plan_cases(load(name, kind).cases, {});
}

std::vector<std::string> names() {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(kFolder))
    found.push_back(entry.path().stem().string());
  std::sort(found.begin(), found.end());
  return found;
}

class ShippedSuite : public testing::TestWithParam<DeviceKind> {};

TEST_P(ShippedSuite, AllResolve) {
  EXPECT_EQ(names(),
            (std::vector<std::string>{"attention", "bert", "bert-full", "comm", "conv", "full",
                                      "gemm", "memory", "micro", "smoke", "transfer"}));
  for (const std::string& name : names()) {
    const Suite suite = load(name, GetParam());
    EXPECT_EQ(suite.name, name);
    const std::vector<Case> planned = plan_cases(suite.cases, {});
    if (name != "full") {
      EXPECT_EQ(planned.size(), suite.cases.size()) << name << ": a case is there twice";
    }
    EXPECT_FALSE(planned.empty()) << name;
  }
}

TEST_P(ShippedSuite, FullHasAllButTheLongFormOfBert) {
  std::set<std::string> full;
  for (const Case& planned : cases("full", GetParam())) full.insert(planned.id);
  for (const std::string& name : names()) {
    if (name == "bert-full") continue;
    for (const Case& planned : cases(name, GetParam())) {
      EXPECT_TRUE(full.count(planned.id) != 0) << name << ": " << planned.id;
    }
  }
}

TEST_P(ShippedSuite, Fp8SizesAreMultiplesOf16) {
  for (const std::string& name : names()) {
    for (const Case& planned : cases(name, GetParam())) {
      if (planned.workload->name != "ops/gemm" || planned.params.text("dtype") != "fp8") continue;
      EXPECT_EQ(planned.params.integer("n") % 16, 0) << planned.id;
      EXPECT_EQ(planned.params.integer("k") % 16, 0) << planned.id;
      EXPECT_EQ(planned.params.text("layout"), "tn")
          << planned.id;  // the only one FP8 has on Hopper
    }
  }
}

/// But in smoke, which has to be quick and alike from run to run: the library's own choice.
TEST_P(ShippedSuite, GemmsAreTuned) {
  for (const std::string& name : names()) {
    if (name == "smoke" || name == "full") continue;  // full holds all the others
    for (const Case& planned : cases(name, GetParam())) {
      if (planned.workload->name != "ops/gemm") continue;
      EXPECT_TRUE(planned.params.flag("tune")) << planned.id;
    }
  }
}

/// In a build without CUDA, too: planning needs no device code.
TEST_P(ShippedSuite, EveryCaseHasAFootprint) {
  DeviceInfo device;
  device.kind = GetParam();
  device.cc_major = 9;
  device.l2_bytes = std::uint64_t{50} << 20;
  for (const std::string& name : names()) {
    for (const Case& planned : cases(name, GetParam())) {
      const std::uint64_t bytes =
          planned.workload->footprint(device, planned.conditions, planned.params);
      EXPECT_GT(bytes, 0u) << planned.id;
      EXPECT_LT(bytes, std::uint64_t{60} << 30) << planned.id << " fits no A100 with 80 GB";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, ShippedSuite, testing::Values(DeviceKind::cuda, DeviceKind::cpu),
                         [](const auto& given) {
                           return given.param == DeviceKind::cpu ? "cpu" : "cuda";
                         });

TEST(BertSuite, FitsTwoMinutes) {
  const Suite suite = load("bert", DeviceKind::cuda);
  EXPECT_LE(suite.cases.size(), 30u);
  const double least =
      static_cast<double>(suite.cases.size()) * (suite.policy.warmup_s + suite.policy.min_time_s);
  EXPECT_LE(least, 60) << "leaves half of the 120 s for set-up, verification and noise";
}

TEST(BertSuite, TheCpuRunsAtLeastTwentyCases) {
  EXPECT_GE(cases("bert", DeviceKind::cpu).size(), 20u);
  double flops = 0;
  for (const Case& planned : cases("bert", DeviceKind::cpu)) {
    if (planned.workload->name != "ops/gemm") continue;
    flops += 2.0 * static_cast<double>(planned.params.integer("m")) *
             static_cast<double>(planned.params.integer("n")) *
             static_cast<double>(planned.params.integer("k"));
  }
  EXPECT_LE(flops, 1e10) << "one iteration of every case, at 100 GFLOP/s in a tenth of a second";
}

TEST(BertSuite, HasEveryType) {
  for (const char* dtype : {"tf32", "fp16", "bf16", "fp8"}) {
    const auto all = cases("bert", DeviceKind::cuda);
    EXPECT_GE(std::count_if(all.begin(), all.end(),
                            [&](const Case& planned) {
                              return planned.workload->name == "ops/gemm" &&
                                     planned.params.text("dtype") == dtype;
                            }),
              5)
        << dtype;
  }
}

bool has_case_of(const std::vector<Case>& all, const WorkloadInfo* workload) {
  return std::any_of(all.begin(), all.end(),
                     [&](const Case& planned) { return planned.workload == workload; });
}

TEST(SmokeSuite, HasOneOfEachOpAndTheMemory) {
  const auto all = cases("smoke", DeviceKind::cuda);
  for (const WorkloadInfo* workload : workloads()) {
    if (!workload->name.starts_with("ops/") && workload->name != "micro/memory") continue;
    EXPECT_TRUE(has_case_of(all, workload)) << workload->name;
  }
}

TEST(MicroSuites, HaveEveryMicrobenchmark) {
  std::vector<Case> all = cases("micro", DeviceKind::cuda);
  for (const char* suite : {"transfer", "memory"}) {
    for (Case& planned : cases(suite, DeviceKind::cuda)) all.push_back(std::move(planned));
  }
  for (const WorkloadInfo* workload : workloads()) {
    if (!workload->name.starts_with("micro/")) continue;
    EXPECT_TRUE(has_case_of(all, workload)) << workload->name;
  }
}

}  // namespace
}  // namespace gpubench
