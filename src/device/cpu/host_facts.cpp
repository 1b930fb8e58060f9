// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/host_facts.h"

#include <sched.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fstream>
#include <limits>
#include <memory>
#include <optional>
#include <thread>

#include "util/text.h"

namespace gpubench {
namespace {

namespace fs = std::filesystem;

std::optional<std::uint64_t> parse_number(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) {
    text.remove_prefix(1);
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

std::string first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

/// nullopt also for version 2's "max".
std::optional<std::uint64_t> read_number(const fs::path& file) {
  return parse_number(first_line(file));
}

/// The text after "KEY...:" of the first such line.
std::string field(const fs::path& file, std::string_view key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || line.rfind(key, 0) != 0) continue;
    const std::size_t start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? std::string() : line.substr(start);
  }
  return {};
}

struct GroupMemory {
  std::uint64_t limit = 0;
  std::uint64_t used = 0;
};

/// Bytes of page cache in a group: the kernel drops them before it kills.
std::uint64_t droppable_cache(const fs::path& stat_file) {
  std::ifstream in(stat_file);
  for (std::string line; std::getline(in, line);) {
    for (const std::string_view key : {"inactive_file ", "total_inactive_file "}) {
      if (line.rfind(key, 0) == 0) return parse_number(line.substr(key.size())).value_or(0);
    }
  }
  return 0;
}

std::optional<GroupMemory> group_memory(const fs::path& folder, const char* limit_file,
                                        const char* usage_file) {
  const auto limit = read_number(folder / limit_file);
  const auto usage = read_number(folder / usage_file);
  if (!limit || !usage) return std::nullopt;
  return GroupMemory{*limit, *usage - std::min(*usage, droppable_cache(folder / "memory.stat"))};
}

/// Path of this process's group in the hierarchy that has `controller` ("" for version 2).
std::string group_path(const fs::path& root, std::string_view controller) {
  std::ifstream in(root / "proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::vector<std::string> names = split(line.substr(first + 1, second - first - 1), ',');
    if (std::find(names.begin(), names.end(), controller) == names.end()) continue;
    return line.substr(second + 1);
  }
  return {};
}

/// Narrows `state` by a hierarchy's limits: the group's own and those of all groups above it.
void apply_group_limits(const fs::path& mount, const std::string& group, const char* limit_file,
                        const char* usage_file, MemoryState& state) {
  fs::path folder = mount / fs::path(group).relative_path();
  for (;;) {
    if (const auto memory = group_memory(folder, limit_file, usage_file)) {
      state.total_bytes = std::min(state.total_bytes, memory->limit);
      state.free_bytes =
          std::min(state.free_bytes, memory->limit - std::min(memory->limit, memory->used));
    }
    // In a container the group's path may lie outside the mount; the mount itself is the group.
    if (folder == mount || !folder.has_relative_path() || folder == folder.parent_path()) return;
    folder = folder.parent_path();
    if (folder.native().size() < mount.native().size()) return;
  }
}

}  // namespace

std::string processor_name(const fs::path& root) {
  const std::string name = field(root / "proc/cpuinfo", "model name");
  if (!name.empty()) return valid_utf8(name);
  utsname machine{};
  return ::uname(&machine) == 0 ? std::string(machine.machine) + " processor" : "processor";
}

int usable_threads() {
  // Machines may have more processors than the fixed cpu_set_t holds; the kernel refuses a set
  // that is too small.
  for (std::size_t processors = 1024; processors <= (std::size_t{1} << 20); processors *= 4) {
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(
        CPU_ALLOC(processors), [](cpu_set_t* memory) { CPU_FREE(memory); });
    const std::size_t bytes = CPU_ALLOC_SIZE(processors);
    if (set && ::sched_getaffinity(0, bytes, set.get()) == 0) return CPU_COUNT_S(bytes, set.get());
  }
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

std::uint64_t last_level_cache_bytes(const fs::path& root) {
  const fs::path folder = root / "sys/devices/system/cpu/cpu0/cache";
  std::uint64_t best_level = 0;
  std::uint64_t bytes = 0;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const auto level = read_number(entry.path() / "level");
    const std::string size = first_line(entry.path() / "size");  // "33792K"
    const auto number = parse_number(size);
    if (!level || !number || *level <= best_level) continue;
    const char unit = size.empty() ? ' ' : size.back();
    best_level = *level;
    bytes = *number << (unit == 'K' ? 10 : unit == 'M' ? 20 : 0);
  }
  return bytes;
}

MemoryState host_memory(const fs::path& root) {
  const auto kib = [&root](std::string_view key) {
    return parse_number(field(root / "proc/meminfo", key)).value_or(0) << 10;
  };
  MemoryState state{kib("MemAvailable"), kib("MemTotal")};
  const fs::path mounts = root / "sys/fs/cgroup";
  apply_group_limits(mounts, group_path(root, ""), "memory.max", "memory.current", state);
  apply_group_limits(mounts / "memory", group_path(root, "memory"), "memory.limit_in_bytes",
                     "memory.usage_in_bytes", state);
  return state;
}

}  // namespace gpubench
