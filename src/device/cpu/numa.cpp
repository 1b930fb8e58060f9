// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/numa.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "gpubench/error.h"
#include "util/text.h"
#include "util/units.h"

namespace gpubench {
namespace {

namespace fs = std::filesystem;

constexpr int kMostNodes = 1024;    // what the kernel is built for at most
constexpr int kMostCpus = 1 << 16;  // far above any machine; keeps a damaged file harmless
// MPOL_PREFERRED of linux/mempolicy.h, which may not be there. Not MPOL_BIND: where the node is
// full, that gets the process killed, and node() tells anyway.
constexpr int kPreferred = 1;
constexpr std::size_t kPage = 4096;  // no page is smaller
constexpr const char* kMaps = "/proc/self/numa_maps";

/// The first line; empty where there is no such file.
std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

fs::path nodes_folder(const fs::path& root) { return root / "sys/devices/system/node"; }

/// The processors of a mask as the scheduler gives it.
std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

bool run_on(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) {
    if (cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
  }
  return CPU_COUNT(&set) > 0 && sched_setaffinity(0, sizeof(set), &set) == 0;
}

}  // namespace

std::vector<int> parse_cpu_list(const std::string& text) {
  std::vector<int> numbers;
  for (std::string piece : split(text, ',')) {
    while (!piece.empty() && std::isspace(static_cast<unsigned char>(piece.back())) != 0) {
      piece.pop_back();
    }
    const std::size_t dash = piece.find('-');
    const auto first = parse_integer(piece.substr(0, dash));
    const auto last = dash == std::string::npos ? first : parse_integer(piece.substr(dash + 1));
    if (!first || !last || *first < 0 || *last >= kMostCpus) continue;
    for (std::int64_t number = *first; number <= *last; ++number) {
      numbers.push_back(static_cast<int>(number));
    }
  }
  return numbers;
}

std::vector<NumaNode> numa_nodes(const fs::path& root) {
  std::vector<NumaNode> nodes;
  const fs::path folder = nodes_folder(root);
  const std::vector<int> with_memory = parse_cpu_list(first_line(folder / "has_memory"));
  for (const int id : parse_cpu_list(first_line(folder / "online"))) {
    NumaNode node{id,
                  parse_cpu_list(first_line(folder / ("node" + std::to_string(id)) / "cpulist"))};
    const bool memory =
        with_memory.empty() || std::count(with_memory.begin(), with_memory.end(), id);
    if (memory && !node.cpus.empty()) nodes.push_back(std::move(node));
  }
  return nodes;
}

std::optional<int> numa_node_of_pci(const std::string& pci_id, const fs::path& root) {
  const std::vector<NumaNode> nodes = numa_nodes(root);
  if (nodes.size() == 1) return nodes.front().id;
  const std::string text = first_line(root / "sys/bus/pci/devices" / lower(pci_id) / "numa_node");
  const auto node = parse_integer(text);
  if (!node || *node < 0 || *node >= kMostNodes) return std::nullopt;
  return static_cast<int>(*node);
}

std::optional<int> furthest_numa_node(int node, const fs::path& root) {
  const std::vector<int> online = parse_cpu_list(first_line(nodes_folder(root) / "online"));
  std::istringstream line(
      first_line(nodes_folder(root) / ("node" + std::to_string(node)) / "distance"));
  std::vector<int> distances;
  for (int distance = 0; line >> distance;) distances.push_back(distance);
  std::optional<int> furthest;
  int most = 0;
  for (const NumaNode& other : numa_nodes(root)) {
    if (other.id == node) continue;
    // One column per node that is online, in their order.
    const auto column = static_cast<std::size_t>(std::find(online.begin(), online.end(), other.id) -
                                                 online.begin());
    const int distance = column < distances.size() ? distances[column] : 0;
    if (!furthest || distance > most) {
      furthest = other.id;
      most = distance;
    }
  }
  return furthest;
}

std::optional<int> numa_node_in_maps(const std::string& maps, const void* address) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  for (const std::string& line : split(maps, '\n')) {
    char* end = nullptr;
    const auto begin = std::strtoull(line.c_str(), &end, 16);
    if (end == line.c_str() || begin != wanted) continue;
    std::optional<int> node;
    std::int64_t most = 0;
    for (const std::string& word : split(line, ' ')) {
      const std::size_t equals = word.find('=');
      if (word.size() < 4 || word[0] != 'N' || equals == std::string::npos) continue;
      const auto id = parse_integer(word.substr(1, equals - 1));
      const auto pages = parse_integer(word.substr(equals + 1));
      if (!id || !pages || *id < 0 || *id >= kMostNodes || *pages <= most) continue;
      node = static_cast<int>(*id);
      most = *pages;
    }
    return node;
  }
  return std::nullopt;
}

ThreadOnNode::ThreadOnNode(std::optional<int> node) {
  if (!node) return;
  for (const NumaNode& known : numa_nodes()) {
    if (known.id != *node) continue;
    std::vector<int> before = allowed_cpus();
    if (run_on(known.cpus)) before_ = std::move(before);
  }
}

ThreadOnNode::~ThreadOnNode() {
  if (!before_.empty()) static_cast<void>(run_on(before_));
}

HostPages::HostPages(std::size_t bytes, std::optional<int> node)
    : size_((std::max<std::size_t>(bytes, 1) + kPage - 1) / kPage * kPage) {
  void* memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw DeviceError("E_OOM", "the host has no " + format_gib(size_) + " of memory left");
  }
  data_ = static_cast<std::byte*>(memory);
  // Keeps the mapping apart from its neighbours, so that its pages are counted alone; and a child
  // process must not make pinned pages be copied.
  static_cast<void>(madvise(memory, size_, MADV_DONTFORK));
  if (node && *node >= 0 && *node < kMostNodes) {
    constexpr int kBits = sizeof(unsigned long) * CHAR_BIT;
    std::array<unsigned long, kMostNodes / kBits> mask{};
    mask[static_cast<std::size_t>(*node / kBits)] = 1UL << (*node % kBits);
    // Refused in containers without CAP_SYS_NICE: then the first touch decides.
    static_cast<void>(syscall(SYS_mbind, memory, size_, kPreferred, mask.data(),
                              static_cast<unsigned long>(kMostNodes) + 1, 0UL));
  }
  const ThreadOnNode there(node);
  for (std::size_t at = 0; at < size_; at += kPage) data_[at] = std::byte{0};
}

HostPages::~HostPages() { static_cast<void>(munmap(data_, size_)); }

std::optional<int> HostPages::node() const {
  std::ifstream file(kMaps);
  std::ostringstream text;
  text << file.rdbuf();
  return numa_node_in_maps(text.str(), data_);
}

}  // namespace gpubench
