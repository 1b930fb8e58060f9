// SPDX-License-Identifier: Apache-2.0
// Memory of the host on a chosen NUMA node, and on which node it really is. Linux only, by system
// calls and /sys: no libnuma. The root is a parameter, so that tests bring their own files.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace gpubench {

struct NumaNode {
  int id = 0;
  std::vector<int> cpus;
};

/// "0-3,8" as its numbers; what is no list of numbers gives none.
std::vector<int> parse_cpu_list(const std::string& text);

/// Nodes that have both processors and memory: GPU memory can be a node of its own.
std::vector<NumaNode> numa_nodes(const std::filesystem::path& root = "/");

/// Of a card by its bus address "0000:1b:00.0"; nullopt where the machine does not tell (often so
/// in virtual machines). A machine of one node has no other.
std::optional<int> numa_node_of_pci(const std::string& pci_id,
                                    const std::filesystem::path& root = "/");

/// The node that is furthest from `node`; nullopt where there is no other.
std::optional<int> furthest_numa_node(int node, const std::filesystem::path& root = "/");

/// Where most pages of the mapping that begins at `address` lie, by a text like that of
/// /proc/self/numa_maps.
std::optional<int> numa_node_in_maps(const std::string& maps, const void* address);

/// The calling thread runs on a node's processors for as long as this lives, where the system
/// allows it.
class ThreadOnNode {
 public:
  explicit ThreadOnNode(std::optional<int> node);
  ~ThreadOnNode();
  ThreadOnNode(const ThreadOnNode&) = delete;
  ThreadOnNode& operator=(const ThreadOnNode&) = delete;

 private:
  std::vector<int> before_;  // empty: nothing to restore
};

/// Pages of their own, all present, on a node if it has room: asked for by policy where the system
/// allows it, and touched first from there.
class HostPages {
 public:
  /// Throws DeviceError E_OOM.
  HostPages(std::size_t bytes, std::optional<int> node);
  ~HostPages();
  HostPages(const HostPages&) = delete;
  HostPages& operator=(const HostPages&) = delete;

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  /// The node on which most pages are; nullopt where the system does not tell.
  std::optional<int> node() const;

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace gpubench
