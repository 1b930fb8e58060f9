// SPDX-License-Identifier: Apache-2.0
// The ranks of a run, one per device, as one of them sees the others. All ranks call the same
// functions in the same order; a call returns when every rank has made it, and throws instead of
// waiting for ever: where a rank has failed (E_RANK_FAILED), does not come (E_RANK_MISSING) or a
// stop was requested (E_INTERRUPTED).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "gpubench/error.h"

namespace gpubench {

class World {
 public:
  using Bytes = std::vector<std::byte>;

  virtual ~World() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// What each rank gave, by rank; lengths may differ.
  virtual std::vector<Bytes> gather(std::span<const std::byte> mine) = 0;
  /// Throws where gather() would throw at once. For who waits for something else meanwhile.
  virtual void check() = 0;
  /// This rank can't go on: what the others wait for ends with this reason.
  virtual void fail(const Reason& reason) noexcept = 0;

  void barrier();
  /// What `root` gave; the others give nothing.
  Bytes broadcast(int root, std::span<const std::byte> mine);
  /// The largest of all ranks' values; NaN where one of them is.
  double max(double mine);
};

}  // namespace gpubench
