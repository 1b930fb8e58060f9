// SPDX-License-Identifier: Apache-2.0
#include "analysis/match.h"

#include <algorithm>
#include <functional>
#include <map>

#include "report/case_key.h"

namespace gpubench {
namespace {

using DeviceTest = std::function<bool(const DeviceInfo&, const DeviceInfo&)>;

/// Results by device (numbered as in A) and what remains of the id.
using Groups = std::map<std::pair<int, std::string>, std::vector<std::size_t>>;

std::string key_without(const std::string& id, const std::vector<std::string>& ignored) {
  CaseKey key = parse_case_id(id);
  for (const std::string& name : ignored) key.values.erase(name);
  return to_case_id(key);
}

class Matcher {
 public:
  Matcher(const Report& a, const Report& b)
      : a_(a), b_(b), used_a_(a.results.size()), used_b_(b.results.size()) {
    const std::vector<int> counterpart = match_devices(a.devices, b.devices);
    // Devices of B that A lacks get numbers that no device of A has.
    device_of_b_.resize(b.devices.size());
    for (std::size_t i = 0; i < b.devices.size(); ++i) {
      const auto found = std::find(counterpart.begin(), counterpart.end(), static_cast<int>(i));
      device_of_b_[i] = found == counterpart.end() ? static_cast<int>(a.devices.size() + i)
                                                   : static_cast<int>(found - counterpart.begin());
    }
  }

  /// Pairs what is not yet paired and agrees in everything but `ignored`.
  void pair_without(const std::vector<std::string>& ignored) {
    Groups left;
    Groups right;
    for (std::size_t i = 0; i < a_.results.size(); ++i) {
      const Result& result = a_.results[i];
      if (!used_a_[i]) left[{result.device, key_without(result.id, ignored)}].push_back(i);
    }
    for (std::size_t i = 0; i < b_.results.size(); ++i) {
      const Result& result = b_.results[i];
      const int device = device_of_b_.at(static_cast<std::size_t>(result.device));
      if (!used_b_[i]) right[{device, key_without(result.id, ignored)}].push_back(i);
    }
    for (const auto& [key, from_a] : left) {
      const auto found = right.find(key);
      if (found != right.end()) pair_group(from_a, found->second, ignored.empty());
    }
  }

  std::vector<Match> take() {
    std::stable_sort(matches_.begin(), matches_.end(), [](const Match& x, const Match& y) {
      return std::pair(*x.a, *x.b) < std::pair(*y.a, *y.b);
    });
    for (std::size_t i = 0; i < used_a_.size(); ++i) {
      if (!used_a_[i]) matches_.push_back({i, std::nullopt});
    }
    for (std::size_t i = 0; i < used_b_.size(); ++i) {
      if (!used_b_[i]) matches_.push_back({std::nullopt, i});
    }
    return std::move(matches_);
  }

 private:
  /// One against several that differ in something: each of them with the one. Else in order.
  void pair_group(const std::vector<std::size_t>& from_a, const std::vector<std::size_t>& from_b,
                  bool alike) {
    const bool one = !alike && (from_a.size() == 1 || from_b.size() == 1);
    const std::size_t count =
        one ? std::max(from_a.size(), from_b.size()) : std::min(from_a.size(), from_b.size());
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t a = from_a[std::min(i, from_a.size() - 1)];
      const std::size_t b = from_b[std::min(i, from_b.size() - 1)];
      used_a_[a] = used_b_[b] = true;
      matches_.push_back({a, b});
    }
  }

  const Report& a_;
  const Report& b_;
  std::vector<int> device_of_b_;
  std::vector<bool> used_a_, used_b_;
  std::vector<Match> matches_;
};

}  // namespace

std::vector<int> match_devices(const std::vector<ReportDevice>& a,
                               const std::vector<ReportDevice>& b) {
  const DeviceTest tests[] = {
      [](const DeviceInfo& x, const DeviceInfo& y) { return !x.uuid.empty() && x.uuid == y.uuid; },
      [](const DeviceInfo& x, const DeviceInfo& y) { return x.kind == y.kind && x.name == y.name; },
      [](const DeviceInfo& x, const DeviceInfo& y) { return x.kind == y.kind; }};
  std::vector<int> counterpart(a.size(), -1);
  std::vector<bool> taken(b.size(), false);
  for (const DeviceTest& same : tests) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      for (std::size_t j = 0; j < b.size() && counterpart[i] < 0; ++j) {
        if (taken[j] || !same(a[i].info, b[j].info)) continue;
        counterpart[i] = static_cast<int>(j);
        taken[j] = true;
      }
    }
  }
  return counterpart;
}

std::vector<Match> match_results(const Report& a, const Report& b,
                                 const std::vector<std::string>& ignored) {
  Matcher matcher(a, b);
  if (!ignored.empty()) {
    matcher.pair_without(ignored);
    return matcher.take();
  }
  matcher.pair_without({});
  matcher.pair_without({"impl"});
  matcher.pair_without({"impl", "data", "cache", "mode"});
  return matcher.take();
}

}  // namespace gpubench
