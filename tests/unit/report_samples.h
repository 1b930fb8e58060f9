// SPDX-License-Identifier: Apache-2.0
// Made-up reports for the tests of src/report and src/analysis.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "gpubench/report.h"

namespace gpubench {

inline ReportDevice sample_h200() {
  ReportDevice device;
  DeviceInfo& info = device.info;
  info.kind = DeviceKind::cuda;
  info.name = "NVIDIA H200";
  info.uuid = "GPU-11111111-2222-3333-4444-555555555555";
  info.pci_id = "0000:1b:00.0";
  info.pci_device = 0x2335;
  info.pci_subsystem = 0x18be10de;
  info.cc_major = 9;
  info.sm_count = 132;
  info.memory_bytes = 150754820096;
  info.l2_bytes = 62914560;
  info.max_sm_clock_mhz = 1980;
  info.memory_clock_mhz = 3201;
  info.bus_bits = 6016;
  info.power_limit_w = 700;
  info.default_power_limit_w = 700;
  info.pcie_gen = 5;
  info.pcie_width = 16;
  info.pcie_max_gen = 5;
  info.pcie_max_width = 16;
  info.ecc_enabled = true;
  info.mig = false;
  info.compute_mode = "default";
  DeviceSpec spec;
  spec.id = "h200-sxm-141gb";
  spec.marketing_name = "H200 SXM 141GB";
  spec.dense_tflops = {{"tf32", 494.7}, {"fp16", 989.4}, {"bf16", 989.4}, {"fp8", 1978.9}};
  spec.flops_per_clk_per_sm = {{"tf32", 2048}, {"fp16", 4096}, {"bf16", 4096}, {"fp8", 8192}};
  spec.memory_gb_per_s = 4800;
  spec.nvlink_gb_per_s = 450;
  spec.tdp_w = 700;
  spec.sm_count = 132;
  spec.sources = {"H200 datasheet"};
  device.match = {spec, "pci:0x2335"};
  return device;
}

inline ReportDevice sample_cpu() {
  ReportDevice device;
  device.info.kind = DeviceKind::cpu;
  device.info.name = "Some Processor";
  device.info.sm_count = 2;
  device.match.rule = "none: the cpu device has no catalogue entry";
  return device;
}

/// `count` samples around `seconds`, within +-`spread` of it.
inline std::vector<double> sample_times(double seconds, double spread = 0.002,
                                        std::size_t count = 60) {
  std::vector<double> samples;
  for (std::size_t i = 0; i < count; ++i) {
    samples.push_back(seconds * (1 + spread * std::sin(static_cast<double>(i) * 2.4)));
  }
  return samples;
}

/// An ok result of a BF16 GEMM at `tflops`, not yet derived.
inline Result sample_gemm(double tflops, double sm_clock_mhz = 1830, std::int64_t size = 8192) {
  Result result;
  const std::string n = std::to_string(size);
  result.id = "ops/gemm?dtype=bf16&k=" + n + "&m=" + n + "&n=" + n;
  result.workload = "ops/gemm";
  result.params = {{"dtype", "bf16"}, {"m", n},      {"n", n},
                   {"k", n},          {"tune", "0"}, {"impl", "auto"}};
  result.impl = "cublaslt";
  result.algorithm = "algo 66";
  result.compute_type = "fp32";
  result.status = Status::ok;
  result.reproduce = "gpubench run 'ops/gemm' dtype=bf16";
  result.cache = "cold";
  result.data_dist = "normal";
  result.data_seed = 1;
  result.mode = "sustained";
  const double edge = static_cast<double>(size);
  Work work;
  work.flops = 2 * edge * edge * edge;
  work.bytes = 3 * edge * edge * 2;
  work.flop_rule = "gemm:2mnk";
  result.work = work;
  const double seconds = work.flops / (tflops * 1e12);
  Measurement measurement;
  measurement.samples_s = sample_times(seconds);
  measurement.kind = "stream";
  measurement.batch = 4;
  measurement.stop = "noise";
  measurement.end_s = 0.5;
  measurement.warmup_s = 1.5;
  result.measurement = measurement;
  Check check;
  check.passed = true;
  check.error = 0.001;
  check.tolerance = 0.01;
  check.reference = "double on the device, every element";
  result.check = check;
  result.peak_memory_bytes = 1 << 30;
  result.workspace_bytes = 1 << 25;
  result.peak.dtype = "bf16";
  Telemetry telemetry;
  telemetry.sm_clock_median_mhz = sm_clock_mhz;
  telemetry.sm_clock_min_mhz = sm_clock_mhz - 15;
  telemetry.sm_clock_counted_mhz = sm_clock_mhz - 3;
  telemetry.power_median_w = 650;
  telemetry.temperature_max_c = 61;
  telemetry.throttle = std::map<std::string, double>{};
  telemetry.series = {{0.02, sm_clock_mhz, 3201, 640, 60, 0},
                      {0.04, sm_clock_mhz, 3201, 655.5, 61, 4},
                      {0.06, std::nullopt, std::nullopt, std::nullopt, std::nullopt, std::nullopt}};
  result.telemetry = telemetry;
  return result;
}

/// A result that is not ok and, as a reused struct might, still holds numbers of an earlier case.
inline Result sample_unlucky(Status status, const std::string& code, const std::string& message) {
  Result result = sample_gemm(700);
  result.id = "ops/gemm?k=131072&m=131072&n=131072";
  result.status = status;
  result.reason = {code, message};
  return result;
}

inline Report sample_report(std::vector<Result> results, ReportDevice device = sample_h200()) {
  Report report;
  report.created = "2026-12-01T10:00:00Z";
  report.complete = true;
  report.command = {"gpubench", "run", "--suite", "bert"};
  report.gpubench = {"0.1.0", "abc1234", std::string(64, 'a'), "13.0", "gcc 12.2", {"sm_90"}};
  report.host = {"node7", "Some Processor", "Linux 6.1", 16, 137438953472};
  report.libraries = {{"driver", {"580.159.04", ""}},
                      {"cublaslt", {"13.1.0", "/x/libcublasLt.so"}}};
  report.environment = {{"CUDA_VISIBLE_DEVICES", "3"}};
  report.devices = {std::move(device)};
  report.suite = {"bert", std::string(64, 'b'), {{"max_noise", 0.005}, {"warmup_s", 3}}};
  report.results = std::move(results);
  return report;
}

}  // namespace gpubench
