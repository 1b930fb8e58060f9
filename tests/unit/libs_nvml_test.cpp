// SPDX-License-Identifier: Apache-2.0
// Telemetry from a fake NVML with two unlike cards (tests/fake_libs/fake_nvml.cpp).
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include "libs/libraries.h"
#include "libs/telemetry.h"

namespace gpubench {
namespace {

constexpr const char* kFirstUuid = "GPU-11111111-1111-1111-1111-111111111111";
constexpr const char* kSecondUuid = "GPU-22222222-2222-2222-2222-222222222222";

DeviceInfo gpu(const std::string& uuid, const std::string& pci) {
  DeviceInfo info;
  info.kind = DeviceKind::cuda;
  info.uuid = uuid;
  info.pci_id = pci;
  return info;
}

class NvmlTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!GPUBENCH_HAS_CUDA) GTEST_SKIP() << "built without a CUDA toolkit";
    ::setenv("GPUBENCH_LIB_PATH", GPUBENCH_FAKE_LIBS "/nvml", 1);
    ::unsetenv("FAKE_NVML_INIT");
    ::unsetenv("FAKE_NVML_OLD");
    ::unsetenv("FAKE_NVML_ERRORS");
  }
  LibraryStatus nvml_status() {
    for (const LibraryStatus& status : libraries_.statuses(true)) {
      if (status.name == "nvml") return status;
    }
    return {};
  }
  Libraries libraries_;
};

TEST_F(NvmlTest, ReadsTheCardOfThisUuidWhateverItsIndex) {
  const auto first = make_telemetry(libraries_, gpu(kFirstUuid, "0000:1b:00.0"));
  const auto second = make_telemetry(libraries_, gpu(kSecondUuid, "0000:c1:00.0"));
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  const double before = steady_seconds();
  const TelemetryReading reading = first->read();
  EXPECT_GE(reading.t_s, before);
  EXPECT_EQ(reading.sm_clock_mhz, 1980);
  EXPECT_EQ(reading.memory_clock_mhz, 3201);
  EXPECT_EQ(reading.power_w, 651);  // the instant field, not the average
  EXPECT_EQ(reading.temperature_c, 66);
  EXPECT_EQ(reading.event_reasons, 4u);  // through the older name
  EXPECT_EQ(second->read().sm_clock_mhz, 1410);
  EXPECT_EQ(second->read().temperature_c, std::nullopt);
}

TEST_F(NvmlTest, FallsBackToThePciId) {
  const auto source = make_telemetry(libraries_, gpu("", "0000:c1:00.0"));
  ASSERT_NE(source, nullptr);
  EXPECT_EQ(source->read().sm_clock_mhz, 1410);
}

TEST_F(NvmlTest, ShowsNothingWhereTheJoiningIsUnsure) {
  EXPECT_EQ(make_telemetry(libraries_, gpu(kFirstUuid, "0000:c1:00.0")), nullptr);
  EXPECT_EQ(make_telemetry(libraries_, gpu("GPU-unknown", "0000:1b:00.0")), nullptr);
  EXPECT_EQ(make_telemetry(libraries_, gpu("", "0000:2b:00.0")), nullptr);
  EXPECT_EQ(make_telemetry(libraries_, gpu("", "")), nullptr);
  DeviceInfo unsure = gpu(kFirstUuid, "0000:c1:00.0");
  enrich_from_nvml(libraries_, unsure);
  EXPECT_EQ(unsure.pci_device, std::nullopt);
}

TEST_F(NvmlTest, PowerOfTheBoardIsNotAnInstances) {
  const auto source = make_telemetry(libraries_, gpu("MIG-1234", "0000:1b:00.0"));
  ASSERT_NE(source, nullptr);
  EXPECT_EQ(source->read().sm_clock_mhz, 1980);
  EXPECT_EQ(source->read().power_w, std::nullopt);
}

TEST_F(NvmlTest, OldDriverGivesAveragePower) {
  ::setenv("FAKE_NVML_OLD", "1", 1);
  const auto source = make_telemetry(libraries_, gpu(kFirstUuid, "0000:1b:00.0"));
  ASSERT_NE(source, nullptr);
  EXPECT_EQ(source->read().power_w, 650);
}

TEST_F(NvmlTest, EnrichesWithWhatIsSupported) {
  DeviceInfo first = gpu(kFirstUuid, "0000:1b:00.0");
  enrich_from_nvml(libraries_, first);
  EXPECT_EQ(first.pci_device, 0x2335u);
  EXPECT_EQ(first.pci_subsystem, 0x18be10deu);
  EXPECT_EQ(first.max_sm_clock_mhz, 1980);
  EXPECT_EQ(first.bus_bits, 6016);
  EXPECT_EQ(first.power_limit_w, 500);
  EXPECT_EQ(first.default_power_limit_w, 700);
  EXPECT_EQ(first.pcie_width, 8);
  EXPECT_EQ(first.pcie_max_width, 16);
  EXPECT_EQ(first.pcie_gen, 4);
  EXPECT_EQ(first.pcie_max_gen, std::nullopt);  // the library has no such function
  EXPECT_EQ(first.mig, false);
  EXPECT_EQ(first.compute_mode, "exclusive_process");
  DeviceInfo second = gpu(kSecondUuid, "0000:c1:00.0");
  enrich_from_nvml(libraries_, second);
  EXPECT_EQ(second.pci_device, 0x20B2u);
  EXPECT_EQ(second.power_limit_w, std::nullopt);
  EXPECT_EQ(second.bus_bits, std::nullopt);
}

TEST_F(NvmlTest, CountersOfWhatIsSupported) {
  const auto first = make_telemetry(libraries_, gpu(kFirstUuid, "0000:1b:00.0"));
  const double energy_j = first->read().energy_j.value();
  EXPECT_NEAR(first->read().energy_j.value() - energy_j, 70, 1e-9);
  const TelemetryCounters before = first->counters();
  Telemetry calm;
  add_counters(calm, before, first->counters());
  ASSERT_TRUE(calm.throttled_s && calm.errors);
  EXPECT_NEAR(calm.throttled_s->at("power"), 0.25, 1e-9);
  EXPECT_EQ(calm.throttled_s->at("thermal"), 0);
  EXPECT_EQ(calm.pcie_gen, 4);
  EXPECT_EQ(calm.throttled_s->count("reliability"), 0u) << "not supported is not zero";
  EXPECT_EQ(*calm.errors, (Readings{{"ecc_corrected", 0},
                                    {"ecc_uncorrected", 0},
                                    {"pcie_replays", 0},
                                    {"remapped_rows", 0}}));
  ::setenv("FAKE_NVML_ERRORS", "1", 1);
  Telemetry faulty;
  add_counters(faulty, before, first->counters());
  EXPECT_EQ(faulty.errors->at("ecc_corrected"), 1);
  EXPECT_EQ(faulty.errors->at("pcie_replays"), 1);

  const auto second = make_telemetry(libraries_, gpu(kSecondUuid, "0000:c1:00.0"));
  EXPECT_FALSE(second->read().energy_j.has_value());
  EXPECT_TRUE(second->counters().throttled_s.empty());
  EXPECT_EQ(second->counters().errors.count("pcie_replays"), 0u);
}

TEST_F(NvmlTest, UtilisationNeedsATenthOfASecond) {
  const auto first = make_telemetry(libraries_, gpu(kFirstUuid, "0000:1b:00.0"));
  EXPECT_FALSE(first->end_utilisation().has_value()) << "never begun";
  first->begin_utilisation();
  EXPECT_FALSE(first->end_utilisation().has_value()) << "too short for NVML";
  first->begin_utilisation();
  std::this_thread::sleep_for(std::chrono::milliseconds(120));
  const auto readings = first->end_utilisation();
  ASSERT_TRUE(readings.has_value());
  EXPECT_EQ(readings->size(), 2u) << "what is not supported is left out";
  EXPECT_EQ(readings->at("tensor_util_pct"), 81.5);
  EXPECT_NEAR(readings->at("pcie_tx_gb_per_s"), 1.048576, 1e-9);
  EXPECT_FALSE(first->end_utilisation().has_value()) << "ended already";

  for (const auto& device : {gpu(kSecondUuid, "0000:c1:00.0"), gpu("MIG-1234", "0000:1b:00.0")}) {
    const auto without = make_telemetry(libraries_, device);
    without->begin_utilisation();
    std::this_thread::sleep_for(std::chrono::milliseconds(120));
    EXPECT_FALSE(without->end_utilisation().has_value());
    EXPECT_FALSE(without->read().energy_j.has_value());
  }
}

TEST_F(NvmlTest, LinksProcessesAndVirtualization) {
  DeviceInfo first = gpu(kFirstUuid, "0000:1b:00.0");
  enrich_from_nvml(libraries_, first);
  EXPECT_EQ(first.nvlinks, 17) << "one of 18 is down";
  EXPECT_EQ(first.other_processes, 0);
  EXPECT_EQ(first.virtualization, "passthrough");
  DeviceInfo second = gpu(kSecondUuid, "0000:c1:00.0");
  enrich_from_nvml(libraries_, second);
  EXPECT_EQ(second.nvlinks, 12);
  EXPECT_EQ(second.other_processes, 2);
}

TEST_F(NvmlTest, StatusGivesVersionAndPath) {
  const LibraryStatus status = nvml_status();
  EXPECT_TRUE(status.loaded);
  EXPECT_EQ(status.version, "13.999.12.34");
  EXPECT_NE(status.path.find("fake_libs"), std::string::npos) << status.path;
}

TEST_F(NvmlTest, MismatchedDriverIsNamedAndNothingElseFails) {
  ::setenv("FAKE_NVML_INIT", "18", 1);
  EXPECT_EQ(libraries_.nvml(), nullptr);
  EXPECT_EQ(make_telemetry(libraries_, gpu(kFirstUuid, "0000:1b:00.0")), nullptr);
  DeviceInfo info = gpu(kFirstUuid, "0000:1b:00.0");
  enrich_from_nvml(libraries_, info);
  EXPECT_EQ(info.pci_device, std::nullopt);
  const LibraryStatus status = nvml_status();
  EXPECT_FALSE(status.loaded);
  EXPECT_NE(status.problem.find("version mismatch"), std::string::npos) << status.problem;
  EXPECT_NE(status.problem.find("18"), std::string::npos) << status.problem;
}

TEST(CpuTelemetry, ThereIsNone) {
  Libraries libraries;
  EXPECT_EQ(make_telemetry(libraries, DeviceInfo{}), nullptr);
}

}  // namespace
}  // namespace gpubench
