// SPDX-License-Identifier: Apache-2.0
#include "libs/nvidia/nvml_counters.h"

#include <array>
#include <cmath>

namespace gpubench {
namespace {

constexpr double kGpmLeastSeconds = 0.1;  // nvml.h, nvmlGpmMetricsGet
constexpr double kGbPerMib = 1.048576e-3;

struct Policy {
  nvmlPerfPolicyType_t type;
  const char* name;
};
constexpr std::array<Policy, 6> kPolicies{{{NVML_PERF_POLICY_POWER, "power"},
                                           {NVML_PERF_POLICY_THERMAL, "thermal"},
                                           {NVML_PERF_POLICY_SYNC_BOOST, "sync_boost"},
                                           {NVML_PERF_POLICY_BOARD_LIMIT, "board_limit"},
                                           {NVML_PERF_POLICY_LOW_UTILIZATION, "low_utilization"},
                                           {NVML_PERF_POLICY_RELIABILITY, "reliability"}}};

struct GpmMetric {
  unsigned int id;
  const char* name;
  double scale;
};
constexpr std::array<GpmMetric, 12> kGpmMetrics{
    {{NVML_GPM_METRIC_SM_UTIL, "sm_util_pct", 1},
     {NVML_GPM_METRIC_SM_OCCUPANCY, "sm_occupancy_pct", 1},
     {NVML_GPM_METRIC_ANY_TENSOR_UTIL, "tensor_util_pct", 1},
     {NVML_GPM_METRIC_DRAM_BW_UTIL, "dram_util_pct", 1},
     {NVML_GPM_METRIC_FP64_UTIL, "fp64_util_pct", 1},
     {NVML_GPM_METRIC_FP32_UTIL, "fp32_util_pct", 1},
     {NVML_GPM_METRIC_FP16_UTIL, "fp16_util_pct", 1},
     {NVML_GPM_METRIC_INTEGER_UTIL, "integer_util_pct", 1},
     {NVML_GPM_METRIC_PCIE_TX_PER_SEC, "pcie_tx_gb_per_s", kGbPerMib},
     {NVML_GPM_METRIC_PCIE_RX_PER_SEC, "pcie_rx_gb_per_s", kGbPerMib},
     {NVML_GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC, "nvlink_tx_gb_per_s", kGbPerMib},
     {NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC, "nvlink_rx_gb_per_s", kGbPerMib}}};

}  // namespace

TelemetryCounters read_counters(const NvmlFunctions& nvml, nvmlDevice_t device) {
  TelemetryCounters counters;
  for (const Policy& policy : kPolicies) {
    nvmlViolationTime_t time{};
    if (nvml.violation != nullptr && nvml.violation(device, policy.type, &time) == NVML_SUCCESS) {
      counters.throttled_s[policy.name] = static_cast<double>(time.violationTime) * 1e-9;
    }
  }
  const auto ecc = [&](nvmlMemoryErrorType_t type, const char* name) {
    unsigned long long count = 0;
    if (nvml.ecc_errors != nullptr &&
        nvml.ecc_errors(device, type, NVML_VOLATILE_ECC, &count) == NVML_SUCCESS) {
      counters.errors[name] = static_cast<double>(count);
    }
  };
  ecc(NVML_MEMORY_ERROR_TYPE_CORRECTED, "ecc_corrected");
  ecc(NVML_MEMORY_ERROR_TYPE_UNCORRECTED, "ecc_uncorrected");
  unsigned int corrected = 0, uncorrected = 0, pending = 0, failed = 0;
  if (nvml.remapped_rows != nullptr &&
      nvml.remapped_rows(device, &corrected, &uncorrected, &pending, &failed) == NVML_SUCCESS) {
    counters.errors["remapped_rows"] = static_cast<double>(corrected) + uncorrected;
  }
  unsigned int replays = 0;
  if (nvml.pcie_replays != nullptr && nvml.pcie_replays(device, &replays) == NVML_SUCCESS) {
    counters.errors["pcie_replays"] = replays;
  }
  unsigned int generation = 0;
  if (nvml.pcie_gen != nullptr && nvml.pcie_gen(device, &generation) == NVML_SUCCESS) {
    counters.pcie_gen = static_cast<int>(generation);
  }
  return counters;
}

std::unique_ptr<GpmWindow> GpmWindow::make(const NvmlFunctions& nvml, nvmlDevice_t device) {
  if (nvml.gpm_support == nullptr || nvml.gpm_alloc == nullptr || nvml.gpm_free == nullptr ||
      nvml.gpm_sample == nullptr || nvml.gpm_metrics == nullptr) {
    return nullptr;
  }
  nvmlGpmSupport_t support{};
  support.version = NVML_GPM_SUPPORT_VERSION;
  if (nvml.gpm_support(device, &support) != NVML_SUCCESS || support.isSupportedDevice == 0) {
    return nullptr;
  }
  std::unique_ptr<GpmWindow> window(new GpmWindow(nvml, device));
  if (window->first_ == nullptr || window->second_ == nullptr) return nullptr;
  return window;
}

GpmWindow::GpmWindow(const NvmlFunctions& nvml, nvmlDevice_t device)
    : nvml_(nvml), device_(device) {
  for (nvmlGpmSample_t* sample : {&first_, &second_}) {
    if (nvml_.gpm_alloc(sample) != NVML_SUCCESS) *sample = nullptr;
  }
}

GpmWindow::~GpmWindow() {
  for (nvmlGpmSample_t sample : {first_, second_}) {
    if (sample != nullptr) static_cast<void>(nvml_.gpm_free(sample));
  }
}

void GpmWindow::begin() {
  begin_s_.reset();
  if (nvml_.gpm_sample(device_, first_) == NVML_SUCCESS) begin_s_ = steady_seconds();
}

std::optional<Readings> GpmWindow::end() {
  if (!begin_s_ || steady_seconds() - *begin_s_ < kGpmLeastSeconds) return std::nullopt;
  begin_s_.reset();
  if (nvml_.gpm_sample(device_, second_) != NVML_SUCCESS) return std::nullopt;
  // Some kilobytes: not for the stack of a thread that others made.
  const auto request = std::make_unique<nvmlGpmMetricsGet_t>();
  request->version = NVML_GPM_METRICS_GET_VERSION;
  request->sample1 = first_;
  request->sample2 = second_;
  request->numMetrics = static_cast<unsigned int>(kGpmMetrics.size());
  for (std::size_t i = 0; i < kGpmMetrics.size(); ++i) {
    request->metrics[i].metricId = kGpmMetrics[i].id;
  }
  if (nvml_.gpm_metrics(request.get()) != NVML_SUCCESS) return std::nullopt;
  Readings readings;
  for (std::size_t i = 0; i < kGpmMetrics.size(); ++i) {
    const nvmlGpmMetric_t& metric = request->metrics[i];
    if (metric.nvmlReturn != NVML_SUCCESS || !std::isfinite(metric.value)) continue;
    readings[kGpmMetrics[i].name] = metric.value * kGpmMetrics[i].scale;
  }
  return readings.empty() ? std::nullopt : std::optional(std::move(readings));
}

}  // namespace gpubench
