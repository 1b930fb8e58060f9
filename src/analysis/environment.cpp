// SPDX-License-Identifier: Apache-2.0
#include "analysis/environment.h"

#include <fmt/format.h>

namespace gpubench {
namespace {

/// Set to anything but nothing and 0.
bool is_on(const std::string& value) { return !value.empty() && value != "0"; }

bool always(const std::string&) { return true; }
bool is_zero(const std::string& value) { return value == "0"; }

struct Rule {
  const char* name;
  bool (*holds)(const std::string& value);
  const char* compute_type;  ///< only for results computed so; nullptr: for all
  const char* effect;
};

// NVIDIA's documentation of CUDA, cuBLAS, cuDNN and NCCL environment variables.
constexpr Rule kRules[] = {
    {"CUDA_LAUNCH_BLOCKING", is_on, nullptr, "the host waits for every launch"},
    {"CUDA_INJECTION64_PATH", always, nullptr, "a profiler or another tool is attached"},
    {"CUDA_DEVICE_WAITS_ON_EXCEPTION", is_on, nullptr, "the device runs in debugging mode"},
    {"CUDA_ENABLE_COREDUMP_ON_EXCEPTION", is_on, nullptr, "the device is prepared for core dumps"},
    {"NVIDIA_TF32_OVERRIDE", is_zero, "tf32", "NVIDIA's libraries compute in FP32 instead"},
    {"NVIDIA_TF32_OVERRIDE", is_on, "fp32", "NVIDIA's libraries compute in TF32 instead"},
    {"CUBLAS_EMULATE_DOUBLE_PRECISION", is_on, "fp64",
     "cuBLAS may compute FP64 from INT8 products instead"},
    {"CUBLASLT_LOG_LEVEL", is_on, nullptr, "cuBLASLt writes a log at every call"},
    {"CUBLAS_LOGINFO_DBG", is_on, nullptr, "cuBLAS writes a log at every call"},
    {"CUDNN_LOGLEVEL_DBG", is_on, nullptr, "cuDNN writes a log at every call"},
    {"CUDNN_LOGINFO_DBG", is_on, nullptr, "cuDNN writes a log at every call"},
    {"NCCL_P2P_DISABLE", is_on, nullptr, "NCCL does not copy between GPUs directly"},
    {"NCCL_SHM_DISABLE", is_on, nullptr, "NCCL does not use shared memory"},
};

/// What concerns NCCL says nothing of work on one GPU.
bool concerns(const Rule& rule, const Result& result) {
  if (rule.compute_type != nullptr && result.compute_type != rule.compute_type) return false;
  const bool nccl = std::string_view(rule.name).starts_with("NCCL_");
  return !nccl || result.workload.starts_with("comm/");
}

}  // namespace

std::vector<std::string> slowing_environment(const std::map<std::string, std::string>& environment,
                                             const Result& result) {
  std::vector<std::string> sentences;
  for (const Rule& rule : kRules) {
    const auto found = environment.find(rule.name);
    if (found == environment.end() || !rule.holds(found->second)) continue;
    if (!concerns(rule, result)) continue;
    sentences.push_back(fmt::format("{}={} is set: {}", rule.name, found->second, rule.effect));
  }
  return sentences;
}

}  // namespace gpubench
