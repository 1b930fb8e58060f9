// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/numa.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "gpubench/error.h"
#include "ops/transfer/transfer.h"

namespace gpubench {
namespace {

namespace fs = std::filesystem;

/// A machine's /sys in a folder of its own.
class Machine {
 public:
  Machine() {
    std::string name = (fs::temp_directory_path() / "gpubench_numa_XXXXXX").string();
    root_ = mkdtemp(name.data());
  }
  ~Machine() { fs::remove_all(root_); }
  void write(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << "\n";
  }
  void node(int id, const std::string& cpus, const std::string& distances) {
    const std::string folder = "sys/devices/system/node/node" + std::to_string(id) + "/";
    write(folder + "cpulist", cpus);
    write(folder + "distance", distances);
  }
  /// Two sockets of two nodes each; node 4 is a GPU's memory, without processors.
  void two_sockets() {
    write("sys/devices/system/node/online", "0-4");
    write("sys/devices/system/node/has_memory", "0-4");
    node(0, "0-3,16-19", "10 12 32 33 80");
    node(1, "4-7", "12 10 34 32 80");
    node(2, "8-11", "32 34 10 12 80");
    node(3, "12-15", "33 32 12 10 80");
    node(4, "", "80 80 80 80 10");
    write("sys/bus/pci/devices/0000:1b:00.0/numa_node", "0");
    write("sys/bus/pci/devices/0000:2b:00.0/numa_node", "-1");
  }
  const fs::path& root() const { return root_; }

 private:
  fs::path root_;
};

TEST(Numa, ListsOfNumbers) {
  EXPECT_EQ(parse_cpu_list("0-2,8\n"), (std::vector<int>{0, 1, 2, 8}));
  EXPECT_EQ(parse_cpu_list(""), std::vector<int>{});
  EXPECT_EQ(parse_cpu_list("x,3,5-y,-1"), std::vector<int>{3});
  EXPECT_EQ(parse_cpu_list("0-99999999999"), std::vector<int>{});  // no machine, a damaged file
}

TEST(Numa, MemoryWithoutProcessorsIsNoNode) {
  Machine machine;
  machine.two_sockets();
  const std::vector<NumaNode> nodes = numa_nodes(machine.root());
  ASSERT_EQ(nodes.size(), 4U);
  EXPECT_EQ(nodes[0].cpus, (std::vector<int>{0, 1, 2, 3, 16, 17, 18, 19}));
  EXPECT_EQ(nodes[3].id, 3);
}

TEST(Numa, NodeOfACardAndTheFurthestFromIt) {
  Machine machine;
  machine.two_sockets();
  EXPECT_EQ(numa_node_of_pci("0000:1B:00.0", machine.root()), 0);
  EXPECT_EQ(numa_node_of_pci("0000:2b:00.0", machine.root()), std::nullopt);  // -1: not told
  EXPECT_EQ(numa_node_of_pci("0000:ff:00.0", machine.root()), std::nullopt);
  EXPECT_EQ(furthest_numa_node(0, machine.root()), 3);
  EXPECT_EQ(furthest_numa_node(1, machine.root()), 2);
}

TEST(Numa, AMachineOfOneNodeHasNoOther) {
  Machine machine;
  machine.write("sys/devices/system/node/online", "0");
  machine.write("sys/devices/system/node/has_memory", "0");
  machine.node(0, "0-63", "10");
  machine.write("sys/bus/pci/devices/0000:1b:00.0/numa_node", "-1");
  EXPECT_EQ(numa_node_of_pci("0000:1b:00.0", machine.root()), 0);
  EXPECT_EQ(furthest_numa_node(0, machine.root()), std::nullopt);
}

TEST(Numa, HostNodeOfATransfer) {
  Machine machine;
  machine.two_sockets();
  EXPECT_EQ(host_node(Numa::near, "0000:1b:00.0", machine.root()), 0);
  EXPECT_EQ(host_node(Numa::far, "0000:1b:00.0", machine.root()), 3);
  EXPECT_EQ(host_node(Numa::any, "0000:1b:00.0", machine.root()), std::nullopt);
  EXPECT_EQ(host_node(Numa::near, "0000:2b:00.0", machine.root()), std::nullopt);
  EXPECT_THROW(host_node(Numa::far, "0000:2b:00.0", machine.root()), Unsupported);
  EXPECT_THROW(host_node(Numa::far, "", "/nowhere"), Unsupported);
}

TEST(Numa, TheNodeWithMostPagesOfAMapping) {
  const std::string maps =
      "7f0000000000 prefer:1 anon=512 dirty=512 N0=12 N1=500 kernelpagesize_kB=4\n"
      "7f0000200000 default anon=9 dirty=9 N0=9 kernelpagesize_kB=4\n"
      "7f0000300000 default\n";
  EXPECT_EQ(numa_node_in_maps(maps, reinterpret_cast<void*>(0x7f0000000000)), 1);
  EXPECT_EQ(numa_node_in_maps(maps, reinterpret_cast<void*>(0x7f0000200000)), 0);
  EXPECT_EQ(numa_node_in_maps(maps, reinterpret_cast<void*>(0x7f0000300000)), std::nullopt);
  EXPECT_EQ(numa_node_in_maps(maps, reinterpret_cast<void*>(0x7f0000100000)), std::nullopt);
  EXPECT_EQ(numa_node_in_maps("", nullptr), std::nullopt);
}

TEST(Numa, PagesAreThereAndOnTheNodeWhereTheSystemTells) {
  const std::vector<NumaNode> nodes = numa_nodes();
  const std::optional<int> wanted = nodes.empty() ? std::nullopt : std::optional(nodes[0].id);
  HostPages pages(1 << 20, wanted);
  EXPECT_EQ(pages.size(), std::size_t{1} << 20);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pages.data()) % 4096, 0U);
  std::memset(pages.data(), 1, pages.size());
  const std::optional<int> found = pages.node();
  if (found && nodes.size() == 1) {
    EXPECT_EQ(found, wanted);
  }
}

TEST(Numa, AThreadGetsItsProcessorsBack) {
  const auto allowed = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    EXPECT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
    return CPU_COUNT(&set);
  };
  const int before = allowed();
  {
    const ThreadOnNode there(0);
    const ThreadOnNode nowhere(999);
  }
  EXPECT_EQ(allowed(), before);
}

}  // namespace
}  // namespace gpubench
