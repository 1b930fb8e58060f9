// SPDX-License-Identifier: Apache-2.0
// A case id taken apart: "ops/gemm?dtype=bf16&m=8192" is workload "ops/gemm" and two values.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gpubench/report.h"

namespace gpubench {

struct CaseKey {
  std::string workload;
  std::map<std::string, std::string>
      values;  ///< parameters and conditions that are not at their default
};

CaseKey parse_case_id(std::string_view id);

/// The inverse: keys sorted.
std::string to_case_id(const CaseKey& key);

/// A short name for each result: the workload, its dtype, and the values in which the results of
/// that workload differ; `impl` is left out (tables have a column for it).
std::vector<std::string> case_labels(const std::vector<Result>& results);

}  // namespace gpubench
