// SPDX-License-Identifier: Apache-2.0
#include "gpubench/world.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

namespace gpubench {
namespace {

/// Ranks that are in different calls would otherwise take each other's bytes for their own kind.
void require_length(const World::Bytes& bytes, std::size_t length, std::size_t rank,
                    const char* call) {
  if (bytes.size() == length) return;
  throw Error("E_WORLD_ORDER", "rank " + std::to_string(rank) + " is not in the same call (" +
                                   call + ") as the others: a fault in the program");
}

}  // namespace

void World::barrier() {
  const std::vector<Bytes> all = gather({});
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    require_length(all[rank], 0, rank, "barrier");
  }
}

World::Bytes World::broadcast(int root, std::span<const std::byte> mine) {
  std::vector<Bytes> all = gather(rank() == root ? mine : std::span<const std::byte>());
  const auto from = static_cast<std::size_t>(root);
  if (root < 0 || from >= all.size()) {
    throw Error("E_INTERNAL", "broadcast from rank " + std::to_string(root) + " of " +
                                  std::to_string(all.size()));
  }
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (rank != from) require_length(all[rank], 0, rank, "broadcast");
  }
  return std::move(all[from]);
}

double World::max(double mine) {
  const std::vector<Bytes> all = gather(std::as_bytes(std::span(&mine, 1)));
  double largest = mine;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    require_length(all[rank], sizeof(double), rank, "max");
    double value = 0;
    std::memcpy(&value, all[rank].data(), sizeof(value));
    // std::max would drop a NaN, depending on its place.
    if (std::isnan(value) || std::isnan(largest)) {
      largest = std::isnan(value) ? value : largest;
    } else {
      largest = std::max(largest, value);
    }
  }
  return largest;
}

}  // namespace gpubench
