// SPDX-License-Identifier: Apache-2.0
#include "app/host.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <string_view>

#include "app/version.h"
#include "device/devices.h"
#include "gpubench/error.h"
#include "util/file.h"
#include "util/sha256.h"
#include "util/text.h"

extern char** environ;

namespace gpubench {

HostInfo host_info() {
  HostInfo host;
  utsname name{};
  if (uname(&name) == 0) {
    host.name = name.nodename;
    host.os = std::string(name.sysname) + " " + name.release + " " + name.machine;
  }
  const DeviceInfo cpu = cpu_device_info();
  host.cpu = cpu.name;
  host.cores = cpu.sm_count;
  host.memory_bytes = cpu.memory_bytes;
  return host;
}

BuildInfo build_info() {
  const BuildVersion& version = build_version();
  BuildInfo build;
  build.version = version.version;
  build.git = version.git;
  build.cuda = version.cuda;
  build.compiler = version.compiler;
  if (!version.archs.empty()) build.archs = split(version.archs, ',');
  try {
    build.binary_sha256 = sha256_hex(read_file("/proc/self/exe"));
  } catch (const Error&) {
    build.binary_sha256.clear();  // no /proc: unknown
  }
  return build;
}

std::map<std::string, std::string> recorded_environment() {
  constexpr std::array<std::string_view, 5> kPrefixes = {"NCCL_", "CUDA_", "CUBLAS_", "CUDNN_",
                                                         "GPUBENCH_"};
  std::map<std::string, std::string> recorded;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = text.substr(0, equals);
    bool wanted = name == "NVIDIA_TF32_OVERRIDE";
    for (const std::string_view prefix : kPrefixes) wanted = wanted || name.starts_with(prefix);
    if (wanted) recorded.emplace(name, text.substr(equals + 1));
  }
  return recorded;
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text.data();
}

}  // namespace gpubench
