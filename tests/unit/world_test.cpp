// SPDX-License-Identifier: Apache-2.0
// Ranks as threads: what they exchange, and that none waits for ever.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <thread>

#include "world/thread_world.h"

namespace gpubench {
namespace {

World::Bytes bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// The code of what run_ranks throws; empty where it throws nothing.
template <class Body>
std::string code_of(ThreadWorld& world, const Body& body) {
  try {
    run_ranks(world, body);
  } catch (const Error& error) {
    return error.code();
  }
  return {};
}

class Worlds : public testing::TestWithParam<int> {};

TEST_P(Worlds, EachRankIsThereOnceAndSeesWhatAllGave) {
  ThreadWorld world(GetParam());
  std::atomic<int> ranks = 0;
  run_ranks(world, [&](World& mine) {
    ranks += 1 << mine.rank();
    EXPECT_EQ(mine.size(), GetParam());
    for (int round = 0; round < 100; ++round) {
      // Of another length from each, so that no rank's bytes could be another's.
      const auto text = [&](int rank) {
        return std::string(static_cast<std::size_t>(rank), 'x') + std::to_string(round);
      };
      const auto all = mine.gather(bytes_of(text(mine.rank())));
      ASSERT_EQ(all.size(), static_cast<std::size_t>(GetParam()));
      for (int rank = 0; rank < mine.size(); ++rank) {
        EXPECT_EQ(all[static_cast<std::size_t>(rank)], bytes_of(text(rank)));
      }
    }
  });
  EXPECT_EQ(ranks, (1 << GetParam()) - 1);
}

TEST_P(Worlds, NoRankPassesABarrierBeforeAllAreThere) {
  ThreadWorld world(GetParam());
  std::atomic<int> arrived = 0;
  run_ranks(world, [&](World& mine) {
    for (int round = 1; round <= 50; ++round) {
      if (mine.rank() == round % mine.size()) std::this_thread::yield();
      ++arrived;
      mine.barrier();
      EXPECT_GE(arrived, round * mine.size());
      mine.barrier();
      EXPECT_EQ(arrived, round * mine.size());
      mine.barrier();
    }
  });
}

TEST_P(Worlds, MaxAndBroadcast) {
  ThreadWorld world(GetParam());
  run_ranks(world, [&](World& mine) {
    for (int root = 0; root < mine.size(); ++root) {
      EXPECT_EQ(mine.max(mine.rank() == root ? -1 : -5), -1);
      EXPECT_TRUE(std::isnan(mine.max(mine.rank() == root ? std::nan("") : 7)));
      EXPECT_EQ(mine.broadcast(root, bytes_of("from " + std::to_string(mine.rank()))),
                bytes_of("from " + std::to_string(root)));
    }
    EXPECT_EQ(mine.max(mine.rank()), mine.size() - 1);
    EXPECT_EQ(mine.max(mine.rank() == 0 ? std::numeric_limits<double>::infinity() : 0),
              std::numeric_limits<double>::infinity());
  });
}

INSTANTIATE_TEST_SUITE_P(OfOneToEight, Worlds, testing::Values(1, 2, 3, 4, 8));

TEST(WorldFailures, AFailingRankTellsTheOthersAndIsTheOneReported) {
  ThreadWorld world(4);
  std::atomic<int> told = 0;
  try {
    run_ranks(world, [&](World& mine) {
      if (mine.rank() == 2) throw LibraryError("E_NCCL", "no device memory");
      try {
        mine.barrier();
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), "E_RANK_FAILED");
        EXPECT_STREQ(error.what(), "rank 2: E_NCCL: no device memory");
        ++told;
        throw;
      }
    });
    FAIL() << "nothing thrown";
  } catch (const LibraryError& error) {
    EXPECT_EQ(error.code(), "E_NCCL");
  }
  EXPECT_EQ(told, 3);
}

TEST(WorldFailures, OtherExceptionsCountToo) {
  ThreadWorld world(2);
  EXPECT_THROW(run_ranks(world,
                         [](World& mine) {
                           if (mine.rank() == 1) throw std::runtime_error("odd");
                           mine.barrier();
                         }),
               std::runtime_error);
  ThreadWorld other(2);
  EXPECT_THROW(run_ranks(other,
                         [](World& mine) {
                           if (mine.rank() == 1) throw 42;
                           mine.barrier();
                         }),
               int);
}

TEST(WorldFailures, AMissingRankIsNamedAfterTheTimeout) {
  ThreadWorld world(4, {}, 0.05);
  std::atomic<int> failed = 0;
  EXPECT_EQ(code_of(world,
                    [&](World& mine) {
                      if (mine.rank() == 1) return;  // gone without a word
                      if (mine.rank() == 3) return;
                      try {
                        mine.max(1);
                      } catch (const Error& error) {
                        EXPECT_STREQ(error.what(), "waited 0.05 s for rank 1, 3 of 4");
                        ++failed;
                        throw;
                      }
                    }),
            "E_RANK_MISSING");
  EXPECT_EQ(failed, 2);
  // Who comes after that learns it at once.
  try {
    world.rank(1).barrier();
    FAIL() << "the world had failed";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "E_RANK_MISSING");
  }
}

TEST(WorldFailures, AStopRequestEndsTheWaiting) {
  std::stop_source source;
  ThreadWorld world(3, source.get_token());
  std::atomic<int> waiting = 0, ended = 0;
  EXPECT_EQ(code_of(world,
                    [&](World& mine) {
                      if (mine.rank() == 0) {  // never meets the others
                        while (waiting < 2) std::this_thread::yield();
                        source.request_stop();
                        return;
                      }
                      ++waiting;
                      try {
                        mine.barrier();
                      } catch (const Error&) {
                        ++ended;
                        throw;
                      }
                    }),
            "E_INTERRUPTED");
  EXPECT_EQ(ended, 2);
}

TEST(WorldFailures, CheckTellsAStopAndAFailedRankWithoutWaiting) {
  std::stop_source source;
  ThreadWorld world(2, source.get_token());
  EXPECT_NO_THROW(world.rank(0).check());
  source.request_stop();
  EXPECT_THROW(world.rank(0).check(), Error);
  ThreadWorld other(2);
  other.rank(1).fail({"E_OOM", "full"});
  other.rank(1).fail({"E_LATER", "because of it"});
  try {
    other.rank(0).check();
    FAIL() << "rank 1 had failed";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "rank 1: E_OOM: full");
  }
}

TEST(WorldFailures, RanksInDifferentCallsAreAnErrorNotWrongData) {
  ThreadWorld world(2);
  EXPECT_EQ(code_of(world,
                    [](World& mine) {
                      if (mine.rank() == 0) {
                        mine.barrier();
                      } else {
                        mine.max(3);
                      }
                    }),
            "E_WORLD_ORDER");
}

TEST(WorldFailures, AWorldOfNobodyIsRefused) {
  EXPECT_THROW(ThreadWorld(0), ConfigError);
  ThreadWorld one(1);
  EXPECT_THROW(one.rank(1), std::out_of_range);
}

}  // namespace
}  // namespace gpubench
