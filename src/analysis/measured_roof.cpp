// SPDX-License-Identifier: Apache-2.0
#include "analysis/measured_roof.h"

#include <algorithm>
#include <map>
#include <string>

#include "analysis/derive.h"

namespace gpubench {
namespace {

struct Roofs {
  std::map<std::string, double> tflops;  // by peak.dtype
  double gb_per_s = 0;
};

/// A number that may stand for what the device can do.
bool is_sound(const Result& result) {
  return result.status == Status::ok && !result.emulated && result.cache == "cold" &&
         result.mode != "burst" && !has_warning(result, "W_ABOVE_CLOCK_PEAK") &&
         !has_warning(result, "W_CACHE_RESIDENT") && !has_warning(result, "W_LOW_ENTROPY_DATA");
}

void raise(double& roof, const std::optional<double>& rate) {
  roof = std::max(roof, rate.value_or(0));
}

std::map<int, Roofs> roofs_of(const std::vector<Result>& results) {
  std::map<int, Roofs> roofs;
  for (const Result& result : results) {
    if (!is_sound(result)) continue;
    Roofs& of_device = roofs[result.device];
    if (result.workload == "ops/gemm" && !result.peak.dtype.empty()) {
      raise(of_device.tflops[result.peak.dtype], result.rate.tflops);
    }
    const auto kernel = result.params.find("kernel");
    if (result.workload == "micro/memory" && kernel != result.params.end() &&
        kernel->second == "copy") {
      raise(of_device.gb_per_s, result.rate.gb_per_s);
    }
  }
  return roofs;
}

std::optional<double> percent(const std::optional<double>& rate, double roof) {
  return rate && roof > 0 ? std::optional(100 * *rate / roof) : std::nullopt;
}

std::optional<double> share_of_roof(const Result& result, const Roofs& roofs) {
  const auto found = roofs.tflops.find(result.peak.dtype);
  const double tflops = found == roofs.tflops.end() ? 0 : found->second;
  const auto of_compute = percent(result.rate.tflops, tflops);
  const auto of_memory = percent(result.rate.gb_per_s, roofs.gb_per_s);
  const bool memory = !result.work || result.work->bytes_over == "memory";
  if (result.peak.bound == "compute" || !memory) return of_compute;
  if (result.peak.bound == "memory") return of_memory;
  // The roof that takes longer is the one of which more is reached.
  if (of_compute && of_memory) return std::max(*of_compute, *of_memory);
  return result.work && result.work->flops < result.work->bytes ? of_memory : std::nullopt;
}

}  // namespace

void fill_measured_roofs(std::vector<Result>& results) {
  const std::map<int, Roofs> roofs = roofs_of(results);
  for (Result& result : results) {
    result.peak.of_measured_roof_pct.reset();
    const auto found = roofs.find(result.device);
    if (result.status != Status::ok || result.emulated || found == roofs.end()) continue;
    result.peak.of_measured_roof_pct = share_of_roof(result, found->second);
  }
}

}  // namespace gpubench
