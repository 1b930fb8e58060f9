// SPDX-License-Identifier: Apache-2.0
// Members of several threads that begin something together and go on until all have ended.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <stop_token>

namespace gpubench {

class Gathering {
 public:
  explicit Gathering(std::size_t members) : members_(members) {}

  /// Waits until every member that has not left is here, or a stop is requested.
  void meet(const std::stop_token& stop);
  /// This member has what it came for, and goes on only so that the others are not alone.
  void satisfied();
  /// Nobody needs company any more.
  bool all_satisfied() const;

 private:
  friend class Membership;
  void leave(bool met, bool was_satisfied);

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::size_t members_;  // that have not left
  std::size_t here_ = 0, satisfied_ = 0;
};

/// One member's place in a gathering, which it leaves in the end whatever happens; without a
/// gathering all of it does nothing.
class Membership {
 public:
  explicit Membership(Gathering* gathering) : gathering_(gathering) {}
  ~Membership();
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  void meet(const std::stop_token& stop);
  void satisfied();
  bool alone() const { return gathering_ == nullptr; }
  bool needed() const { return gathering_ != nullptr && !gathering_->all_satisfied(); }

 private:
  Gathering* gathering_;
  bool met_ = false, satisfied_ = false;
};

}  // namespace gpubench
