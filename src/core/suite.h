// SPDX-License-Identifier: Apache-2.0
// From a suite file or command-line words to cases. Pure.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/stopping.h"
#include "gpubench/device_info.h"
#include "gpubench/params.h"
#include "gpubench/workload.h"

namespace gpubench {

/// A workload and the parameters given for it, before defaults.
struct CaseRequest {
  std::string workload;
  std::map<std::string, std::string> params;
  /// Only what differs from the run's conditions: "cache" (cold, hot), "data" (normal, ...), "mode"
  /// (sustained, burst), "at_once" and "burn" (0, 1).
  std::map<std::string, std::string> conditions;
  std::string origin = {};  ///< "mine.json: cases[2]", for messages; empty for the command line
};

struct Suite {
  std::string name;
  std::string summary;
  std::string sha256;  ///< of the file's bytes, followed by the sums of what it includes
  SamplingPolicy policy;
  std::vector<CaseRequest> cases;
};

/// What CaseRequest::conditions may hold.
const std::vector<std::string>& condition_names();

/// Throws ConfigError, with `option` and the nearest name, unless `key` is one of `params` or a
/// condition.
void require_parameter(const std::string& option, const std::string& key,
                       std::vector<std::string> params);

/// A case ready to be prepared.
struct Case {
  std::string id;
  const WorkloadInfo* workload = nullptr;
  Params params;
  Conditions conditions;
};

/// Suite file:
///   {"name", "summary", "policy": {SamplingPolicy members},
///    "cases": [{"workload": "ops/gemm",
///               "params": {"dtype": ["bf16", "fp8"], "tune": 1},     arrays: cross product
///               "shapes": [{"m": 1, ...}, ...],                      tuples, crossed with params
///               "conditions": {"cache": "hot"},
///               "cpu": {"params": {...}, "shapes": [...]} or null}]} replaces these members on the
///               cpu
///                                                                     device; null leaves the
///                                                                     entry out
///    "include": ["gemm", ...],                                        the cases of other suites,
///                                                                     before its own
///    "cpu": {"policy": {...}}                                         policy members for the cpu
///    device
/// The policy is the file's own, for included cases too. `include` gives the suite of a name and
/// throws ConfigError where there is none; without it no file may include.
/// Throws ConfigError: file:line:column for malformed JSON; unknown members named with the nearest
/// one.
using IncludeFn = std::function<Suite(const std::string& name)>;
Suite parse_suite(std::string_view json, std::string_view origin, DeviceKind kind,
                  const IncludeFn& include = {});

/// `WORKLOAD key=value[,value]... [WORKLOAD ...]`; a case id as it stands in a report is a WORKLOAD
/// with its values; a workload name may be a glob ("ops/*"), which
/// takes the keys that each matching workload has and must be used by at least one. "cache",
/// "data", "mode", "at_once" and "burn" are conditions.
std::vector<CaseRequest> parse_case_words(const std::vector<std::string>& words);

/// Resolves parameters and ids, drops exact duplicates. Throws ConfigError.
std::vector<Case> plan_cases(const std::vector<CaseRequest>& requests, const Conditions& defaults);

/// Cases whose id or workload matches one of the globs ('*' and '?'; a pattern without either
/// matches as a substring). Throws ConfigError naming each pattern that matches nothing, and the
/// nearest ids.
std::vector<Case> filter_cases(const std::vector<Case>& cases,
                               const std::vector<std::string>& patterns);

/// "normal", ... and back; parse throws ConfigError with the nearest name.
std::string_view to_string(DataDist data);
std::string_view to_string(CacheMode cache);
std::string_view to_string(LoadMode mode);
std::string_view to_string(Fault fault);
DataDist parse_data_dist(std::string_view text);
CacheMode parse_cache_mode(std::string_view text);
LoadMode parse_load_mode(std::string_view text);
Fault parse_fault(std::string_view text);

}  // namespace gpubench
