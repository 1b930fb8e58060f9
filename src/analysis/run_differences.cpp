// SPDX-License-Identifier: Apache-2.0
#include "analysis/run_differences.h"

#include <fmt/format.h>

#include <set>

#include "analysis/match.h"
#include "util/text.h"

namespace gpubench {
namespace {

class Differences {
 public:
  void text(const std::string& what, const std::string& a, const std::string& b) {
    if (a.empty() || b.empty() || a == b) return;
    lines_.push_back(fmt::format("{}: A {}, B {}", what, a, b));
  }
  void number(const std::string& what, const std::optional<double>& a,
              const std::optional<double>& b, const char* unit) {
    if (!a || !b || *a == *b) return;
    lines_.push_back(fmt::format("{}: A {:g} {}, B {:g} {}", what, *a, unit, *b, unit));
  }
  void flag(const std::string& what, const std::optional<bool>& a, const std::optional<bool>& b) {
    const auto word = [](bool on) { return std::string(on ? "on" : "off"); };
    if (a && b) text(what, word(*a), word(*b));
  }
  void line(std::string text) { lines_.push_back(std::move(text)); }
  std::vector<std::string> take() { return std::move(lines_); }

 private:
  std::vector<std::string> lines_;
};

std::string size_text(std::uint64_t bytes) { return bytes > 0 ? format_gib(bytes) : std::string(); }

/// `prefix` tells devices apart where a run has several.
void compare_devices(const DeviceInfo& a, const DeviceInfo& b, const std::string& prefix,
                     Differences& differences) {
  differences.text(prefix + "device", a.name, b.name);
  if (a.name == b.name) differences.text(prefix + "another card of the same name", a.uuid, b.uuid);
  const auto sms = [](const DeviceInfo& info) {
    return info.sm_count > 0 ? std::to_string(info.sm_count) : std::string();
  };
  differences.text(prefix + (a.kind == DeviceKind::cpu ? "hardware threads" : "SMs"), sms(a),
                   sms(b));
  differences.text(prefix + "memory", size_text(a.memory_bytes), size_text(b.memory_bytes));
  differences.number(prefix + "power limit", a.power_limit_w, b.power_limit_w, "W");
  differences.number(prefix + "highest SM clock", a.max_sm_clock_mhz, b.max_sm_clock_mhz, "MHz");
  differences.number(prefix + "memory clock", a.memory_clock_mhz, b.memory_clock_mhz, "MHz");
  differences.flag(prefix + "ECC", a.ecc_enabled, b.ecc_enabled);
  differences.flag(prefix + "MIG", a.mig, b.mig);
  differences.text(prefix + "virtualization", a.virtualization, b.virtualization);
}

void compare_all_devices(const Report& a, const Report& b, Differences& differences) {
  const std::vector<int> counterpart = match_devices(a.devices, b.devices);
  const bool several = a.devices.size() > 1 || b.devices.size() > 1;
  std::set<int> matched;
  for (std::size_t i = 0; i < a.devices.size(); ++i) {
    const DeviceInfo& device = a.devices[i].info;
    if (counterpart[i] < 0) {
      differences.line("only in A: " + device.name + " " + device.uuid);
      continue;
    }
    matched.insert(counterpart[i]);
    const DeviceInfo& other = b.devices[static_cast<std::size_t>(counterpart[i])].info;
    const std::string prefix =
        several ? fmt::format("device {} of A, {} of B: ", device.index, other.index)
                : std::string();
    compare_devices(device, other, prefix, differences);
  }
  for (std::size_t i = 0; i < b.devices.size(); ++i) {
    if (matched.count(static_cast<int>(i)) > 0) continue;
    differences.line("only in B: " + b.devices[i].info.name + " " + b.devices[i].info.uuid);
  }
}

}  // namespace

std::string describe_run(const Report& report) {
  std::vector<std::string> names;
  for (const ReportDevice& device : report.devices) {
    if (names.empty() || names.back() != device.info.name) names.push_back(device.info.name);
  }
  std::string text = names.empty() ? "no device" : join(names, ", ");
  if (!report.host.name.empty()) text += " on " + report.host.name;
  if (!report.suite.name.empty()) text += ", suite " + report.suite.name;
  if (!report.created.empty()) text += ", " + report.created;
  if (!report.complete) text += ", not complete";
  return text;
}

std::vector<std::string> run_differences(const Report& a, const Report& b) {
  Differences differences;
  compare_all_devices(a, b, differences);
  for (const auto& [name, library] : a.libraries) {
    const auto found = b.libraries.find(name);
    if (found != b.libraries.end()) differences.text(name, library.version, found->second.version);
  }
  differences.text("gpubench", a.gpubench.version, b.gpubench.version);
  if (a.gpubench.version == b.gpubench.version) {
    differences.text("gpubench's commit", a.gpubench.git, b.gpubench.git);
  }
  differences.text("suite", a.suite.name, b.suite.name);
  if (a.suite.name == b.suite.name && !a.suite.sha256.empty() && !b.suite.sha256.empty() &&
      a.suite.sha256 != b.suite.sha256) {
    differences.line("the suite's file is not the same");
  }
  for (const auto& [name, value] : a.suite.policy) {
    const auto found = b.suite.policy.find(name);
    if (found != b.suite.policy.end()) differences.number(name, value, found->second, "");
  }
  for (const auto& [name, value] : a.environment) {
    const auto found = b.environment.find(name);
    if (found == b.environment.end()) {
      differences.line(fmt::format("environment {}: A {}, B not set", name, value));
    } else {
      differences.text("environment " + name, value, found->second);
    }
  }
  for (const auto& [name, value] : b.environment) {
    if (a.environment.count(name) == 0) {
      differences.line(fmt::format("environment {}: A not set, B {}", name, value));
    }
  }
  return differences.take();
}

}  // namespace gpubench
