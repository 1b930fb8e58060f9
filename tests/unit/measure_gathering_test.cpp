// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "measure/gathering.h"

namespace gpubench {
namespace {

TEST(Gathering, BeginsWhenAllAreHere) {
  constexpr int kMembers = 6;
  Gathering gathering(kMembers);
  std::atomic<int> arrived = 0, early = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < kMembers; ++i) {
    threads.emplace_back([&, i] {
      Membership member(&gathering);
      std::this_thread::sleep_for(std::chrono::milliseconds(5 * i));
      ++arrived;
      member.meet({});
      if (arrived < kMembers) ++early;
    });
  }
  threads.clear();
  EXPECT_EQ(early, 0);
}

TEST(Gathering, WhoLeavesIsNotWaitedFor) {
  Gathering gathering(3);
  { const Membership failed(&gathering); }
  std::jthread other([&] {
    Membership member(&gathering);
    member.meet({});
    member.satisfied();
    while (member.needed()) std::this_thread::yield();
  });
  Membership member(&gathering);
  member.meet({});
  EXPECT_TRUE(member.needed());
  member.satisfied();
  while (member.needed()) std::this_thread::yield();
}

TEST(Gathering, GoesOnUntilTheLastIsSatisfied) {
  Gathering gathering(2);
  std::atomic<bool> last_is_done = false, left_early = false;
  std::jthread fast([&] {
    Membership member(&gathering);
    member.meet({});
    member.satisfied();
    while (member.needed()) std::this_thread::yield();
    left_early = !last_is_done;
  });
  Membership slow(&gathering);
  slow.meet({});
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  last_is_done = true;
  slow.satisfied();
  fast.join();
  EXPECT_FALSE(left_early);
}

TEST(Gathering, StopEndsTheWait) {
  Gathering gathering(2);
  Membership member(&gathering);
  std::stop_source source;
  std::jthread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    source.request_stop();
  });
  member.meet(source.get_token());  // the other never comes
  EXPECT_TRUE(member.needed());
}

TEST(Gathering, NobodyIsNeededWithoutOne) {
  Membership member(nullptr);
  member.meet({});
  EXPECT_TRUE(member.alone());
  EXPECT_FALSE(member.needed());
}

}  // namespace
}  // namespace gpubench
