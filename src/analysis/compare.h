// SPDX-License-Identifier: Apache-2.0
// Two reports set against each other: which cases are the same, which one is faster, how surely,
// and what differs between the runs. Case by case, never by position or device index.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gpubench/report.h"
#include "report/text_table.h"

namespace gpubench {

struct CompareOptions {
  /// Parameters and conditions to leave out when matching (--match impl,dtype). Empty: by case id,
  /// and what is left over by everything but `impl`.
  std::vector<std::string> ignore_params;
  /// A geometric mean although not every pair is comparable.
  bool allow_partial = false;
};

/// What a row says of B against A.
///
///  faster, slower: the interval of the speed-up excludes 1, and the difference is at least 1 %.
///
///  same: anything less.
///
///  unclear: a side has too few samples for an interval; a ratio, no verdict.
///
///  unlike: other work, or other conditions (data, cache, mode, emulation); a ratio, no verdict.
///
///  suspect: one side is above the peak at its clock, a fault of the measurement; no ratio.
///
///  wrong, failed, skipped, timeout, not_run: the worse status of the two sides; no ratio.
///
///  new, gone: only in B, only in A.
struct CompareRow {
  std::string label;                             ///< workload, dtype and the values that vary
  std::string id_a, id_b;                        ///< empty on the side that lacks the case
  std::string impl_a, impl_b;                    ///< what ran
  std::string device;                            ///< of B, or of A where only A has the case
  std::optional<double> median_a_s, median_b_s;  ///< only of results that are ok
  std::optional<double> speedup;  ///< of B over A: median of A / median of B; above 1, B is faster
  std::optional<double> ci95_low, ci95_high;  ///< of the speed-up
  std::string verdict;
  std::string remark;  ///< why there is no verdict, or what else differs
};

struct CompareReport {
  std::string a, b;                    ///< what each report is: devices, host, suite, time
  std::vector<std::string> notes;      ///< what differs between the runs: device, limits, versions
  std::vector<CompareRow> rows;        ///< pairs in the order of A, then gone, then new
  int pairs = 0;                       ///< cases on both sides
  int comparable = 0;                  ///< pairs with a verdict: faster, slower or same
  std::optional<double> mean_speedup;  ///< geometric; null unless every pair is comparable
  bool nothing_in_common = true;       ///< no pairs at all
};

CompareReport compare_reports(const Report& a, const Report& b, const CompareOptions& options = {});

std::string compare_table(const CompareReport& compared, const TableOptions& options = {});

}  // namespace gpubench
