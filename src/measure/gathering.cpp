// SPDX-License-Identifier: Apache-2.0
#include "measure/gathering.h"

namespace gpubench {

void Gathering::meet(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  ++here_;
  changed_.notify_all();
  changed_.wait(lock, stop, [this] { return here_ >= members_; });
}

void Gathering::satisfied() {
  const std::lock_guard lock(mutex_);
  ++satisfied_;
}

bool Gathering::all_satisfied() const {
  const std::lock_guard lock(mutex_);
  return satisfied_ >= members_;
}

void Gathering::leave(bool met, bool was_satisfied) {
  const std::lock_guard lock(mutex_);
  --members_;
  if (met) --here_;
  if (was_satisfied) --satisfied_;
  changed_.notify_all();
}

Membership::~Membership() {
  if (gathering_ != nullptr) gathering_->leave(met_, satisfied_);
}

void Membership::meet(const std::stop_token& stop) {
  if (gathering_ == nullptr) return;
  met_ = true;
  gathering_->meet(stop);
}

void Membership::satisfied() {
  if (gathering_ == nullptr || satisfied_) return;
  satisfied_ = true;
  gathering_->satisfied();
}

}  // namespace gpubench
