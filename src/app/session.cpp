// SPDX-License-Identifier: Apache-2.0
#include "app/session.h"

#include "device/devices.h"
#include "device/select.h"
#include "gpubench/error.h"
#include "libs/telemetry.h"
#include "util/text.h"

namespace gpubench {

bool wants_cpu(const std::string& device_option) { return lower(trimmed(device_option)) == "cpu"; }

std::vector<ReportDevice> describe_gpus(Libraries& libraries, const Catalogue& catalogue) {
  const CudaState state = cuda_state();
  if (state.kind != CudaState::Kind::ok) throw DeviceError("E_NO_DEVICE", state.message);
  std::vector<ReportDevice> devices;
  for (DeviceInfo& info : cuda_device_infos()) {
    enrich_from_nvml(libraries, info);
    DeviceMatch match = catalogue.match(info);
    devices.push_back({std::move(info), std::move(match)});
  }
  return devices;
}

ReportDevice describe_cpu() {
  return {cpu_device_info(), {std::nullopt, "none: the host processor has no catalogue entry"}};
}

std::vector<ReportDevice> choose_devices(const std::string& device_option, Libraries& libraries,
                                         const Catalogue& catalogue) {
  if (wants_cpu(device_option)) return {describe_cpu()};
  const std::vector<ReportDevice> all = describe_gpus(libraries, catalogue);
  std::vector<DeviceInfo> infos;
  infos.reserve(all.size());
  for (const ReportDevice& device : all) infos.push_back(device.info);
  std::vector<ReportDevice> chosen;
  for (const int ordinal : parse_device_list(device_option.empty() ? "0" : device_option, infos)) {
    for (const ReportDevice& device : all) {
      if (device.info.index == ordinal) chosen.push_back(device);
    }
  }
  return chosen;
}

std::unique_ptr<Device> open_device(const DeviceInfo& info) {
  return info.kind == DeviceKind::cpu ? make_cpu_device() : make_cuda_device(info.index);
}

}  // namespace gpubench
