// SPDX-License-Identifier: Apache-2.0
// Which results of two reports are the same case on corresponding devices.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "gpubench/report.h"

namespace gpubench {

struct Match {
  std::optional<std::size_t> a, b;  ///< indices into the results; one of them may be missing
};

/// For each device of `a` the index of its counterpart in `b`, -1 for none: the same UUID first,
/// then the same name, then the same kind, in order. The index of a device says nothing: it depends
/// on CUDA_VISIBLE_DEVICES.
std::vector<int> match_devices(const std::vector<ReportDevice>& a,
                               const std::vector<ReportDevice>& b);

/// Pairs in the order of `a`, then what only `a` has, then what only `b` has. Without `ignored`: by
/// id, then by everything but impl, then also without the measuring conditions. With it: by
/// everything else.
std::vector<Match> match_results(const Report& a, const Report& b,
                                 const std::vector<std::string>& ignored);

}  // namespace gpubench
