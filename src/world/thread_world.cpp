// SPDX-License-Identifier: Apache-2.0
#include "world/thread_world.h"

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace gpubench {

/// Where the ranks meet: each lays down its bytes, and the last to come hands all of them to all.
class ThreadWorld::Meeting {
 public:
  Meeting(int size, std::stop_token stop, double timeout_s)
      : given_(static_cast<std::size_t>(size)), stop_(std::move(stop)), timeout_s_(timeout_s) {}

  std::vector<World::Bytes> gather(int rank, std::span<const std::byte> mine) {
    std::unique_lock lock(mutex_);
    require_going();
    given_[static_cast<std::size_t>(rank)].emplace(mine.begin(), mine.end());
    if (++arrived_ == given_.size()) return complete();
    const std::uint64_t round = round_;
    const auto limit = std::chrono::duration<double>(timeout_s_);
    changed_.wait_for(lock, stop_, limit, [&] { return round_ != round || failure_; });
    // What was complete counts, whatever has happened since: the other ranks have it too.
    if (round_ != round) return all_;
    require_going();
    failure_ = {"E_RANK_MISSING", fmt::format("waited {:g} s for {}", timeout_s_, missing())};
    changed_.notify_all();
    require_going();
    return {};
  }

  void check() {
    const std::lock_guard lock(mutex_);
    require_going();
  }

  void fail(int rank, const Reason& reason) noexcept {
    try {
      const std::lock_guard lock(mutex_);
      if (failure_) return;  // the first is the cause
      failure_ = {"E_RANK_FAILED",
                  "rank " + std::to_string(rank) + ": " + reason.code + ": " + reason.message};
      changed_.notify_all();
    } catch (...) {  // out of memory: the others' timeout tells them
    }
  }

 private:
  void require_going() const {
    if (failure_) throw Error(failure_->code, failure_->message);
    if (stop_.stop_requested()) throw Error("E_INTERRUPTED", "interrupted between the ranks");
  }

  std::vector<World::Bytes> complete() {
    all_.clear();
    for (std::optional<World::Bytes>& bytes : given_) {
      all_.push_back(std::move(*bytes));
      bytes.reset();
    }
    arrived_ = 0;
    ++round_;
    changed_.notify_all();
    return all_;
  }

  std::string missing() const {
    std::string names;
    for (std::size_t rank = 0; rank < given_.size(); ++rank) {
      if (!given_[rank]) names += (names.empty() ? "rank " : ", ") + std::to_string(rank);
    }
    return names + " of " + std::to_string(given_.size());
  }

  std::mutex mutex_;  // of all below
  std::condition_variable_any changed_;
  std::vector<std::optional<World::Bytes>> given_;  // of the round under way
  std::size_t arrived_ = 0;
  std::uint64_t round_ = 0;
  /// Of the last round. The next can't be complete before every rank has taken this one's.
  std::vector<World::Bytes> all_;
  std::optional<Reason> failure_;
  const std::stop_token stop_;
  const double timeout_s_;
};

class ThreadWorld::Rank : public World {
 public:
  Rank(Meeting& meeting, int rank, int size) : meeting_(meeting), rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::vector<Bytes> gather(std::span<const std::byte> mine) override {
    return meeting_.gather(rank_, mine);
  }
  void check() override { meeting_.check(); }
  void fail(const Reason& reason) noexcept override { meeting_.fail(rank_, reason); }

 private:
  Meeting& meeting_;
  int rank_, size_;
};

ThreadWorld::ThreadWorld(int size, std::stop_token stop, double timeout_s) {
  if (size < 1) throw ConfigError("a world has at least one rank");
  meeting_ = std::make_unique<Meeting>(size, std::move(stop), timeout_s);
  for (int rank = 0; rank < size; ++rank) {
    ranks_.push_back(std::make_unique<Rank>(*meeting_, rank, size));
  }
}

ThreadWorld::~ThreadWorld() = default;

World& ThreadWorld::rank(int index) { return *ranks_.at(static_cast<std::size_t>(index)); }

void run_ranks(ThreadWorld& world, const std::function<void(World&)>& body) {
  std::mutex mutex;
  std::exception_ptr first;
  const auto run = [&](World& mine) {
    Reason reason;
    try {
      return body(mine);
    } catch (const Error& error) {
      const std::lock_guard lock(mutex);
      if (!first) first = std::current_exception();
      reason = error.reason();
    } catch (const std::exception& error) {
      const std::lock_guard lock(mutex);
      if (!first) first = std::current_exception();
      reason = {"E_INTERNAL", error.what()};
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!first) first = std::current_exception();
      reason = {"E_INTERNAL", "something that is no std::exception"};
    }
    // After it was kept: what the others throw because of it is never the first.
    mine.fail(reason);
  };
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < world.size(); ++rank) {
      threads.emplace_back([&run, &mine = world.rank(rank)] { run(mine); });
    }
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace gpubench
