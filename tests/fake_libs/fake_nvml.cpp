// SPDX-License-Identifier: Apache-2.0
// An NVML with two unlike cards, 0000:1b:00.0 and 0000:c1:00.0, whose order is not CUDA's.
// $FAKE_NVML_INIT is what nvmlInit_v2 returns. $FAKE_NVML_OLD: no instant power field. The second
// card supports neither temperature nor power limits, and as an A100 no GPM. Counters grow by a
// step with every call: energy by 70 J, ECC and PCIe errors by one where $FAKE_NVML_ERRORS is set.
#include <nvml.h>

#include <cstdlib>
#include <cstring>
#include <string>

struct nvmlDevice_st {
  const char* uuid;
  unsigned int bus;
  unsigned int device_id;
  unsigned int sm_clock;
  unsigned int power_mw;
  bool complete;
};

namespace {

nvmlDevice_st cards[] = {
    {"GPU-22222222-2222-2222-2222-222222222222", 0xc1, 0x20B210DE, 1410, 300000, false},
    {"GPU-11111111-1111-1111-1111-111111111111", 0x1b, 0x233510DE, 1980, 650000, true},
};

nvmlReturn_t copy_text(const char* text, char* to, unsigned int length) {
  if (std::strlen(text) >= length) return NVML_ERROR_INSUFFICIENT_SIZE;
  std::strcpy(to, text);
  return NVML_SUCCESS;
}

nvmlReturn_t give(nvmlDevice_t device, unsigned int value, unsigned int* to) {
  if (!device->complete) return NVML_ERROR_NOT_SUPPORTED;
  *to = value;
  return NVML_SUCCESS;
}

struct Sample {
  bool taken = false;
};

bool has_errors() { return std::getenv("FAKE_NVML_ERRORS") != nullptr; }

}  // namespace

extern "C" {

nvmlReturn_t nvmlInit_v2() {
  const char* status = std::getenv("FAKE_NVML_INIT");
  return status == nullptr ? NVML_SUCCESS : static_cast<nvmlReturn_t>(std::atoi(status));
}
nvmlReturn_t nvmlShutdown() { return NVML_SUCCESS; }
const char* nvmlErrorString(nvmlReturn_t status) {
  return status == NVML_ERROR_LIB_RM_VERSION_MISMATCH ? "Driver/library version mismatch" : "other";
}
nvmlReturn_t nvmlSystemGetDriverVersion(char* version, unsigned int length) {
  return copy_text("999.12.34", version, length);
}
nvmlReturn_t nvmlSystemGetNVMLVersion(char* version, unsigned int length) {
  return copy_text("13.999.12.34", version, length);
}
nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device) {
  for (nvmlDevice_st& card : cards) {
    if (std::strcmp(card.uuid, uuid) == 0) {
      *device = &card;
      return NVML_SUCCESS;
    }
  }
  return NVML_ERROR_NOT_FOUND;
}
nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* id, nvmlDevice_t* device) {
  for (nvmlDevice_st& card : cards) {
    const std::string own = card.bus == 0x1b ? "0000:1b:00.0" : "0000:c1:00.0";
    if (own == id) {
      *device = &card;
      return NVML_SUCCESS;
    }
  }
  return NVML_ERROR_NOT_FOUND;
}
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* uuid, unsigned int length) {
  return copy_text(device->uuid, uuid, length);
}
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t* pci) {
  *pci = nvmlPciInfo_t{};
  pci->bus = device->bus;
  pci->pciDeviceId = device->device_id;
  pci->pciSubSystemId = 0x18be10de;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type,
                                    unsigned int* clock) {
  *clock = type == NVML_CLOCK_SM ? device->sm_clock : 3201;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t type,
                                       unsigned int* clock) {
  return nvmlDeviceGetClockInfo(device, type, clock);
}
nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int* power) {
  *power = device->power_mw;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t* values) {
  for (int i = 0; i < count; ++i) {
    const bool known = values[i].fieldId == 186 && std::getenv("FAKE_NVML_OLD") == nullptr;
    values[i].nvmlReturn = known ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
    values[i].valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
    values[i].value.uiVal = device->power_mw + 1000;
  }
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t,
                                      unsigned int* degrees) {
  return give(device, 66, degrees);
}
nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t, unsigned long long* reasons) {
  *reasons = 4;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMemoryBusWidth(nvmlDevice_t device, unsigned int* bits) {
  return give(device, 6016, bits);
}
nvmlReturn_t nvmlDeviceGetPowerManagementLimit(nvmlDevice_t device, unsigned int* limit) {
  return give(device, 500000, limit);
}
nvmlReturn_t nvmlDeviceGetPowerManagementDefaultLimit(nvmlDevice_t device, unsigned int* limit) {
  return give(device, 700000, limit);
}
nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t device, unsigned int* generation) {
  return give(device, 4, generation);
}
nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t device, unsigned int* width) {
  return give(device, 8, width);
}
nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t device, unsigned int* width) {
  return give(device, 16, width);
}
nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t, unsigned int* current, unsigned int* pending) {
  *current = 0;
  *pending = 1;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t, nvmlComputeMode_t* mode) {
  *mode = NVML_COMPUTEMODE_EXCLUSIVE_PROCESS;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long* energy) {
  static unsigned long long millijoules = 5'000'000;
  if (!device->complete) return NVML_ERROR_NOT_SUPPORTED;
  *energy = millijoules += 70'000;
  return NVML_SUCCESS;
}
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif
nvmlReturn_t nvmlDeviceGetViolationStatus(nvmlDevice_t device, nvmlPerfPolicyType_t policy,
                                          nvmlViolationTime_t* time) {
  static unsigned long long nanoseconds = 0;
  if (!device->complete || policy == NVML_PERF_POLICY_RELIABILITY) return NVML_ERROR_NOT_SUPPORTED;
  *time = {};
  if (policy == NVML_PERF_POLICY_POWER) time->violationTime = nanoseconds += 250'000'000;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t, nvmlMemoryErrorType_t type,
                                         nvmlEccCounterType_t counter, unsigned long long* count) {
  static unsigned long long corrected = 3;
  if (counter != NVML_VOLATILE_ECC) return NVML_ERROR_NOT_SUPPORTED;
  if (type == NVML_MEMORY_ERROR_TYPE_CORRECTED && has_errors()) ++corrected;
  *count = type == NVML_MEMORY_ERROR_TYPE_CORRECTED ? corrected : 0;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned int* corrected,
                                       unsigned int* uncorrected, unsigned int* pending,
                                       unsigned int* failed) {
  *uncorrected = *pending = *failed = 0;
  return give(device, 1, corrected);
}
nvmlReturn_t nvmlDeviceGetPcieReplayCounter(nvmlDevice_t device, unsigned int* value) {
  static unsigned int replays = 8;
  if (has_errors()) ++replays;
  return give(device, replays, value);
}
nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned int link,
                                      nvmlEnableState_t* state) {
  const unsigned int links = device->complete ? 18 : 12;
  if (link >= links) return NVML_ERROR_INVALID_ARGUMENT;
  *state = device->complete && link == 5 ? NVML_FEATURE_DISABLED : NVML_FEATURE_ENABLED;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int* count,
                                                     nvmlProcessInfo_t*) {
  if (device->complete) {
    *count = 0;
    return NVML_SUCCESS;
  }
  *count = 2;
  return NVML_ERROR_INSUFFICIENT_SIZE;
}
nvmlReturn_t nvmlDeviceGetVirtualizationMode(nvmlDevice_t, nvmlGpuVirtualizationMode_t* mode) {
  *mode = NVML_GPU_VIRTUALIZATION_MODE_PASSTHROUGH;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlGpmQueryDeviceSupport(nvmlDevice_t device, nvmlGpmSupport_t* support) {
  if (support->version != NVML_GPM_SUPPORT_VERSION) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  support->isSupportedDevice = device->complete ? 1 : 0;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlGpmSampleAlloc(nvmlGpmSample_t* sample) {
  *sample = reinterpret_cast<nvmlGpmSample_t>(new Sample);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlGpmSampleFree(nvmlGpmSample_t sample) {
  delete reinterpret_cast<Sample*>(sample);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlGpmSampleGet(nvmlDevice_t, nvmlGpmSample_t sample) {
  reinterpret_cast<Sample*>(sample)->taken = true;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlGpmMetricsGet(nvmlGpmMetricsGet_t* request) {
  if (request->version != NVML_GPM_METRICS_GET_VERSION) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  for (nvmlGpmSample_t sample : {request->sample1, request->sample2}) {
    if (sample == nullptr || !reinterpret_cast<Sample*>(sample)->taken) {
      return NVML_ERROR_INVALID_ARGUMENT;
    }
  }
  for (unsigned int i = 0; i < request->numMetrics; ++i) {
    nvmlGpmMetric_t& metric = request->metrics[i];
    metric.nvmlReturn = NVML_SUCCESS;
    switch (metric.metricId) {
      case NVML_GPM_METRIC_ANY_TENSOR_UTIL:
        metric.value = 81.5;
        break;
      case NVML_GPM_METRIC_PCIE_TX_PER_SEC:
        metric.value = 1000;  // MiB/s
        break;
      default:
        metric.nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
        metric.value = 42;
    }
  }
  return NVML_SUCCESS;
}

}  // extern "C"
