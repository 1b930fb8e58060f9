// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "app/configs.h"
#include "app/session.h"
#include "app/verbs.h"
#include "gpubench/error.h"
#include "report/text_table.h"
#include "report/writer.h"
#include "util/text.h"

namespace gpubench {
namespace {

std::string number(const std::optional<double>& value, const std::string& unit) {
  return value ? fmt::format("{:g} {}", *value, unit) : "unknown";
}

std::string link(const DeviceInfo& info) {
  if (!info.pcie_gen || !info.pcie_width) return "unknown";
  std::string text = fmt::format("gen {} x{}", *info.pcie_gen, *info.pcie_width);
  if (info.pcie_max_gen && info.pcie_max_width) {
    text += fmt::format(" (at most gen {} x{}; a GPU at rest may show less)", *info.pcie_max_gen,
                        *info.pcie_max_width);
  }
  return text;
}

void print_device(const ReportDevice& device, const std::string& driver) {
  const DeviceInfo& info = device.info;
  fmt::print("[{}] {}\n", info.index, printable(info.name));
  fmt::print("  uuid          {}\n  pci           {}", info.uuid, info.pci_id);
  if (info.pci_device) fmt::print("  device 0x{:04X}", *info.pci_device);
  fmt::print("\n  arch          {}, {} SMs, L2 {:g} MiB\n", info.arch(), info.sm_count,
             double(info.l2_bytes) / (1 << 20));
  fmt::print("  memory        {}, {} bits at {}\n", format_gib(info.memory_bytes),
             info.bus_bits ? std::to_string(*info.bus_bits) : "unknown",
             number(info.memory_clock_mhz, "MHz"));
  fmt::print("  SM clock      at most {}\n", number(info.max_sm_clock_mhz, "MHz"));
  fmt::print("  power limit   {}{}\n", number(info.power_limit_w, "W"),
             info.power_limit_w != info.default_power_limit_w
                 ? " (default " + number(info.default_power_limit_w, "W") + ")"
                 : std::string());
  fmt::print("  PCIe          {}\n", link(info));
  fmt::print("  driver        {}\n", driver.empty() ? "unknown" : driver);
  if (device.match.spec) {
    fmt::print("  catalogue     {} [{}], found by {}\n\n", device.match.spec->marketing_name,
               device.match.spec->id, device.match.rule);
  } else {
    fmt::print("  catalogue     no entry, so no percentages ({})\n\n", device.match.rule);
  }
}

}  // namespace

ExitCode devices_verb(bool json, const std::string& catalogue) {
  Libraries libraries;
  std::vector<ReportDevice> devices;
  try {
    devices = describe_gpus(libraries, load_catalogue(catalogue));
  } catch (const DeviceError&) {
    if (json) fmt::print("{}\n", devices_to_json({}, ""));  // who reads it gets an empty list
    throw;
  }
  std::string driver;
  for (const LibraryStatus& status : libraries.statuses(false)) {
    if (status.name == "driver") driver = status.version;
  }
  if (json) {
    fmt::print("{}\n", devices_to_json(devices, driver));
    return ExitCode::fine;
  }
  for (const ReportDevice& device : devices) print_device(device, driver);
  return ExitCode::fine;
}

}  // namespace gpubench
