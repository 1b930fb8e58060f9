// SPDX-License-Identifier: Apache-2.0
#include "ops/transfer/transfer.h"

#include <fmt/format.h>

#include "device/cpu/numa.h"
#include "gpubench/error.h"

namespace gpubench {

Direction parse_direction(const std::string& name) {
  if (name == "h2d") return Direction::h2d;
  if (name == "d2h") return Direction::d2h;
  if (name == "both") return Direction::both;
  throw ConfigError("unknown direction '" + name + "'; there are: h2d, d2h, both");
}

HostMemory parse_host_memory(const std::string& name) {
  if (name == "pinned") return HostMemory::pinned;
  if (name == "pageable") return HostMemory::pageable;
  if (name == "zero_copy") return HostMemory::zero_copy;
  throw ConfigError("unknown host memory '" + name + "'; there are: pinned, pageable, zero_copy");
}

Numa parse_numa(const std::string& name) {
  if (name == "near") return Numa::near;
  if (name == "far") return Numa::far;
  if (name == "any") return Numa::any;
  throw ConfigError("unknown NUMA node '" + name + "'; there are: near, far, any");
}

std::vector<Way> ways_of(Direction direction) {
  switch (direction) {
    case Direction::h2d:
      return {Way::to_device};
    case Direction::d2h:
      return {Way::to_host};
    case Direction::both:
      break;
  }
  return {Way::to_device, Way::to_host};
}

std::optional<int> host_node(Numa numa, const std::string& pci_id,
                             const std::filesystem::path& root) {
  if (numa == Numa::any) return std::nullopt;
  const std::optional<int> near = numa_node_of_pci(pci_id, root);
  if (numa == Numa::near) return near;
  if (!near) {
    throw Unsupported("E_NUMA", fmt::format("the system does not tell the NUMA node of the GPU at "
                                            "{}, so none is far from it; numa=any works",
                                            pci_id));
  }
  const std::optional<int> far = furthest_numa_node(*near, root);
  if (!far) throw Unsupported("E_NUMA", "the machine has one NUMA node only: none is far");
  return far;
}

}  // namespace gpubench
