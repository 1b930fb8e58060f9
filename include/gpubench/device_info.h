// SPDX-License-Identifier: Apache-2.0
// What is known of a device (read off it) and of its SKU (published): plain data, so that
// identification is tested without a GPU. Unknown is nullopt, never 0.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gpubench {

enum class DeviceKind { cuda, cpu };

struct DeviceInfo {
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;       ///< CUDA ordinal under CUDA_VISIBLE_DEVICES; 0 for cpu
  std::string name;    ///< as the driver reports it, or the processor's model name
  std::string uuid;    ///< "GPU-xxxxxxxx-..."; empty for cpu
  std::string pci_id;  ///< bus address "0000:1b:00.0"; empty for cpu
  std::optional<std::uint32_t> pci_device;     ///< 0x2335 (NVML's pciDeviceId >> 16)
  std::optional<std::uint32_t> pci_subsystem;  ///< 0x18be10de
  int cc_major = 0;                            ///< compute capability; 0 for cpu
  int cc_minor = 0;
  int sm_count = 0;  ///< for cpu: hardware threads
  std::uint64_t memory_bytes = 0;
  std::uint64_t l2_bytes = 0;  ///< for cpu: last-level cache
  std::optional<double> max_sm_clock_mhz;
  std::optional<double> memory_clock_mhz;
  std::optional<int> bus_bits;
  std::optional<double> power_limit_w;
  std::optional<double> default_power_limit_w;
  std::optional<int> pcie_gen, pcie_width, pcie_max_gen, pcie_max_width;
  std::optional<bool> ecc_enabled;
  std::optional<bool> mig;
  std::optional<int> nvlinks;          ///< that are up
  std::optional<int> other_processes;  ///< that computed on it before this run began
  std::string virtualization;  ///< "none", "passthrough", "vgpu", "host_vgpu", "host_vsga" or empty
  std::string compute_mode;    ///< "default", "exclusive_process", "prohibited" or empty

  /// "sm_90", or "cpu".
  std::string arch() const;
};

/// Published figures of a SKU from configs/devices.json, each with the key of its source.
struct DeviceSpec {
  std::string id;                              ///< "h200-sxm-141gb"
  std::string marketing_name;                  ///< "H200 SXM 141GB"
  std::map<std::string, double> dense_tflops;  ///< fp64 fp64_tensor fp32 tf32 fp16 bf16 fp8 int8
  std::map<std::string, double> flops_per_clk_per_sm;  ///< same keys; empty where the
                                                       ///< architecture's do not hold
  std::optional<double> max_sm_clock_mhz;              ///< as NVML and CUDA report it
  std::optional<double> reference_clock_mhz;  ///< at which SMs x rate gives the tensor peaks
  std::optional<double> memory_gb;            ///< nominal
  std::optional<int> memory_bus_bits;
  std::optional<double> memory_clock_mhz;  ///< two transfers per clock
  std::optional<double> memory_gb_per_s;
  std::optional<int> mig_memory_slices;  ///< parts into which MIG divides the memory
  std::optional<int> nvlink_links;
  std::optional<double> nvlink_gb_per_s;  ///< per direction, all links
  std::optional<double> pcie_gb_per_s;    ///< per direction
  std::optional<double> tdp_w;
  std::optional<int> sm_count;
  std::string note = {};             ///< what a reader of the figures should know
  std::vector<std::string> sources;  ///< "title (url)" of every source used above
};

/// The catalogue entry of a device and the rule that found it.
struct DeviceMatch {
  std::optional<DeviceSpec> spec;  ///< nullopt: unknown device, no percentages
  std::string rule;                ///< "pci:0x2335", "name:NVIDIA H200", "none: ..."
};

}  // namespace gpubench
