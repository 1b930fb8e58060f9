// SPDX-License-Identifier: Apache-2.0
// The heuristic: an estimate in clocks of a multiprocessor, from the tensor cores' and the L2's
// rates, the fill of the last wave, and what comes before and after a product. It orders the list;
// tune=1 measures.
#include <cuda_runtime.h>

#include <algorithm>
#include <string>

#include "kernels/gemm/gemm_sm90a.h"
#include "kernels/gemm/sm90a/config.h"

namespace gpubench {
namespace sm90a {

std::span<const Kernel> kernels_of(const GemmArguments& arguments) {
  switch (arguments.type) {
    case GemmType::bf16:
      return bf16_kernels(arguments.a_k_contiguous, arguments.b_k_contiguous);
    case GemmType::fp16:
      return fp16_kernels(arguments.a_k_contiguous, arguments.b_k_contiguous);
    case GemmType::tf32:
      return tf32_kernels();
    case GemmType::fp8_e4m3:
    case GemmType::fp8_e5m2:
      return fp8_kernels(arguments.type == GemmType::fp8_e5m2, arguments.promote);
    case GemmType::int8:
      return int8_kernels();
  }
  return {};
}

int element_bytes(GemmType type) {
  if (type == GemmType::tf32) return 4;
  return type == GemmType::bf16 || type == GemmType::fp16 ? 2 : 1;
}

int output_bytes(GemmType type) { return type == GemmType::tf32 || type == GemmType::int8 ? 4 : 2; }

std::int64_t aligned_pitch(std::int64_t columns, int element_bytes) {
  const std::int64_t step = 16 / element_bytes;
  return blocks_of(columns, step) * step;
}

std::int64_t partial_pitch(std::int64_t n) { return aligned_pitch(n, 4); }

namespace {

constexpr std::size_t kPartAlignment = 256;
constexpr std::int64_t kMostPartialBytes = std::int64_t{32} << 20;  // what L2 holds on the way
constexpr int kFewestBlocksPerSplit = 2;
constexpr int kDefaultMultiprocessors = 132;

/// A's rows as they lie in memory: [m][k] or [k][m].
struct Rows {
  std::int64_t rows, columns;
};
Rows a_rows(const GemmArguments& arguments) {
  return arguments.a_k_contiguous ? Rows{arguments.m, arguments.k} : Rows{arguments.k, arguments.m};
}
Rows b_rows(const GemmArguments& arguments) {
  return arguments.b_k_contiguous ? Rows{arguments.n, arguments.k} : Rows{arguments.k, arguments.n};
}

bool is_misaligned(const Rows& rows, const void* data, int bytes) {
  return rows.columns * bytes % 16 != 0 || reinterpret_cast<std::uintptr_t>(data) % 16 != 0;
}

std::size_t copy_bytes(const Rows& rows, int bytes) {
  const std::int64_t all = rows.rows * aligned_pitch(rows.columns, bytes) * bytes;
  return (static_cast<std::size_t>(all) + kPartAlignment - 1) / kPartAlignment * kPartAlignment;
}

int multiprocessors_of_device() {
  int device = 0, count = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());  // no device: an estimate for the usual one
    return kDefaultMultiprocessors;
  }
  return count;
}

/// Clocks that a choice may take.
double estimate(const GemmArguments& arguments, const Kernel& kernel, const Choice& choice,
                int multiprocessors) {
  // From L2 to a multiprocessor per clock, all of them loading; to and from memory likewise; a
  // tile's start and end, and elements through the epilogue per clock; a kernel more.
  constexpr double kL2Bytes = 40, kMemoryBytes = 14, kTileClocks = 900, kElementsPerClock = 24;
  constexpr double kSecondKernel = 4000;
  const double depth = kStageDepthBytes / element_bytes(arguments.type);
  // wgmma takes two clocks per column of B for 64 rows and a stage's depth. Narrow ones wait for
  // shared memory, and one warpgroup alone leaves gaps.
  double tensor = kernel.tile_m / 64.0 * kernel.tile_n * 2;
  // The largest tiles read shared memory least per product, which is clocks and power.
  if (kernel.tile_m * kernel.tile_n < 128 * 256) tensor *= 1.04;
  if (kernel.tile_n == 64) tensor *= 1.5;
  if (kernel.threads == 256) tensor *= 1.2;
  if (arguments.promote) tensor *= 1.1;
  const double loaded =
      (1.0 * kernel.tile_m / choice.cluster_n + 1.0 * kernel.tile_n / choice.cluster_m) *
      kStageDepthBytes;
  const double stage = std::max(tensor, loaded / kL2Bytes);
  const auto rows = blocks_of(blocks_of(arguments.m, kernel.tile_m), choice.cluster_m);
  const auto columns = blocks_of(blocks_of(arguments.n, kernel.tile_n), choice.cluster_n);
  // Four neighbours have to be of one GPC, whose multiprocessors are no multiple of four.
  const int cluster = choice.cluster_m * choice.cluster_n;
  const int clusters =
      std::max(1, cluster == 4 ? (multiprocessors - 4) / 4 : multiprocessors / cluster);
  const double waves = static_cast<double>(blocks_of(rows * columns * choice.splits, clusters));
  const double stages = static_cast<double>(arguments.k) / depth / choice.splits;
  const double elements = 1.0 * kernel.tile_m * kernel.tile_n;
  // A stagger of one hides part of the epilogue; one of two leaves the producer little lead.
  const double shown = choice.stagger == 1 ? 0.5 : choice.stagger == 2 ? 0.6 : 1;
  double clocks = waves * (std::max(stages, 1.0) * stage +
                           shown * (kTileClocks + elements / kElementsPerClock));
  if (choice.splits > 1) {
    const double bytes =
        8.0 * static_cast<double>(arguments.m) * static_cast<double>(arguments.n) * choice.splits;
    clocks += kSecondKernel + bytes / (kL2Bytes * multiprocessors);
  }
  // No product is faster than its operands come from memory.
  const double from_memory = (static_cast<double>(arguments.m) + static_cast<double>(arguments.n)) *
                             static_cast<double>(arguments.k) * element_bytes(arguments.type);
  const double memory_clocks = from_memory / (kMemoryBytes * multiprocessors);
  // Of ways that wait for memory alike, the one with the least else to do.
  return std::max(clocks, memory_clocks) + 0.05 * std::min(clocks, memory_clocks);
}

std::vector<int> splits_of(const GemmArguments& arguments, const Kernel& kernel,
                           int multiprocessors) {
  std::vector<int> splits{1};
  const std::int64_t tiles =
      blocks_of(arguments.m, kernel.tile_m) * blocks_of(arguments.n, kernel.tile_n);
  const std::int64_t blocks =
      blocks_of(arguments.k, kStageDepthBytes / element_bytes(arguments.type));
  if (tiles * 4 > multiprocessors * 3) return splits;
  const std::int64_t bytes = arguments.m * partial_pitch(arguments.n) * 4;
  const std::int64_t fill = multiprocessors / tiles;
  for (const std::int64_t count : {std::int64_t{2}, std::int64_t{4}, fill}) {
    const bool fits = count > 1 && count <= fill && count * kFewestBlocksPerSplit <= blocks &&
                      count * bytes <= kMostPartialBytes;
    if (fits && splits.back() < count) splits.push_back(static_cast<int>(count));
  }
  return splits;
}

/// Each neighbour loads half of the operand that they share: whole columns of 64 m or n.
std::vector<Choice> choices_of(const GemmArguments& arguments, const Kernel& kernel, int index,
                               int multiprocessors) {
  constexpr int kSmallestShared = 128, kMostStagger = 2;
  std::vector<Choice> choices;
  const auto add = [&](int cluster_m, int cluster_n, int splits) {
    Choice choice{index, cluster_m, cluster_n, 0, splits};
    choices.push_back(choice);
    // Of no use to one consumer, to promotion, which alternates by itself, and without an epilogue.
    if (kernel.threads == 256 || arguments.promote || splits > 1) return;
    for (choice.stagger = 1; choice.stagger <= kMostStagger; ++choice.stagger) {
      choices.push_back(choice);
    }
  };
  for (const int splits : splits_of(arguments, kernel, multiprocessors)) {
    add(1, 1, splits);
    const bool shares_b = kernel.tile_n >= kSmallestShared && arguments.m > kernel.tile_m;
    const bool shares_a = kernel.tile_m >= kSmallestShared && arguments.n > kernel.tile_n;
    if (shares_b) add(2, 1, splits);
    if (shares_a) add(1, 2, splits);
    if (shares_a && shares_b && splits == 1) add(2, 2, splits);
  }
  return choices;
}

std::string name_of(const GemmArguments& arguments, const Kernel& kernel, const Choice& choice) {
  std::string name = std::to_string(kernel.tile_m) + "x" + std::to_string(kernel.tile_n) + "x" +
                     std::to_string(kStageDepthBytes / element_bytes(arguments.type)) + ", " +
                     std::to_string(kernel.stages) + " stages, cluster " +
                     std::to_string(choice.cluster_m) + "x" + std::to_string(choice.cluster_n);
  if (choice.stagger > 0) name += ", stagger " + std::to_string(choice.stagger);
  if (choice.splits > 1) name += ", k in " + std::to_string(choice.splits) + " parts";
  if (arguments.promote) name += ", promoted";
  return name;
}

}  // namespace

Workspace workspace_of(const GemmArguments& arguments, int splits) {
  const int bytes = element_bytes(arguments.type);
  Workspace workspace;
  workspace.copy_a = is_misaligned(a_rows(arguments), arguments.a, bytes);
  workspace.copy_b = is_misaligned(b_rows(arguments), arguments.b, bytes);
  workspace.b_at = workspace.copy_a ? copy_bytes(a_rows(arguments), bytes) : 0;
  workspace.partials_at =
      workspace.b_at + (workspace.copy_b ? copy_bytes(b_rows(arguments), bytes) : 0);
  const std::int64_t partials =
      splits > 1 ? splits * arguments.m * partial_pitch(arguments.n) * 4 : 0;
  workspace.bytes = workspace.partials_at + static_cast<std::size_t>(partials);
  return workspace;
}

}  // namespace sm90a

std::string sm90a_refusal(const GemmArguments& arguments) {
  constexpr std::int64_t kMost = (std::int64_t{1} << 31) - 1024;  // coordinates are 32 bits
  if (std::min({arguments.m, arguments.n, arguments.k}) < 1 ||
      std::max({arguments.m, arguments.n, arguments.k}) > kMost) {
    return "m, n and k have to be from 1 to " + std::to_string(kMost);
  }
  const bool half = arguments.type == GemmType::bf16 || arguments.type == GemmType::fp16;
  if (!half && !(arguments.a_k_contiguous && arguments.b_k_contiguous)) {
    return "wgmma reads operands other than FP16 and BF16 with k contiguous alone: layout=tn";
  }
  if (arguments.type == GemmType::int8 && arguments.epilogue != GemmEpilogue::none) {
    return "INT8 products have no epilogue";
  }
  return {};
}

std::vector<GemmConfig> sm90a_configs(const GemmArguments& arguments, int multiprocessors) {
  using namespace sm90a;
  if (multiprocessors == 0) multiprocessors = multiprocessors_of_device();
  // Whoever times the first few shall meet several tiles, not one in all its clusters.
  constexpr int kOfOneTile = 9;
  struct Entry {
    double clocks;
    Choice choice;
    int round;
  };
  std::vector<Entry> entries;
  const auto kernels = kernels_of(arguments);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    std::vector<Entry> of_tile;
    for (const Choice& choice :
         choices_of(arguments, kernels[i], static_cast<int>(i), multiprocessors)) {
      of_tile.push_back({estimate(arguments, kernels[i], choice, multiprocessors), choice, 0});
    }
    std::stable_sort(of_tile.begin(), of_tile.end(),
                     [](const Entry& a, const Entry& b) { return a.clocks < b.clocks; });
    for (std::size_t place = 0; place < of_tile.size(); ++place) {
      of_tile[place].round = static_cast<int>(place) / kOfOneTile;
      entries.push_back(of_tile[place]);
    }
  }
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.round != b.round ? a.round < b.round : a.clocks < b.clocks;
  });
  std::vector<GemmConfig> configs;
  for (const Entry& entry : entries) {
    const Kernel& kernel = kernels[static_cast<std::size_t>(entry.choice.kernel)];
    configs.push_back({.name = name_of(arguments, kernel, entry.choice),
                       .index = entry.choice.index(),
                       .workspace_bytes = workspace_of(arguments, entry.choice.splits).bytes});
  }
  return configs;
}

std::size_t sm90a_copy_bytes(const GemmArguments& arguments) {
  return sm90a::workspace_of(arguments, 1).bytes;
}

}  // namespace gpubench
