// SPDX-License-Identifier: Apache-2.0
// Which of a library's algorithms is taken.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "gpubench/error.h"
#include "ops/support/tune.h"
#include "tests/ops_fixture.h"

namespace gpubench {
namespace {

class Tuning : public testing::Test {
 protected:
  TestBench bench{make_cpu_device()};
};

TEST_F(Tuning, TakesTheFastestAndSkipsWhatDoesNotRun) {
  using std::chrono::milliseconds;
  Context context = bench.context();
  const auto sleep = [](int ms) {
    return [ms](Stream&, std::size_t) { std::this_thread::sleep_for(milliseconds(ms)); };
  };
  const auto refuse = [](Stream&, std::size_t) { throw LibraryError("E_TEST", "no such kernel"); };
  EXPECT_EQ(fastest(context, {sleep(6), refuse, sleep(1), sleep(4)}), 2u);
  EXPECT_EQ(fastest(context, {refuse, sleep(1)}), 1u);
  EXPECT_THROW(fastest(context, {refuse}), Unsupported);
  EXPECT_THROW(fastest(context, {}), Unsupported);
}

TEST_F(Tuning, JudgesCloseCandidatesByWhatEachDoesAlone) {
  using std::chrono::milliseconds;
  Context context = bench.context();
  int in_a_row = 0;  // as a card at its power limit: fast at first, slow when it goes on
  const Candidate tires = [&](Stream&, std::size_t) {
    std::this_thread::sleep_for(milliseconds(++in_a_row > 6 ? 8 : 2));
  };
  const Candidate steady = [&](Stream&, std::size_t) {
    in_a_row = 0;
    std::this_thread::sleep_for(milliseconds(2));
  };
  EXPECT_EQ(fastest(context, {steady, tires}), 0u);
  EXPECT_EQ(fastest(context, {tires, steady}), 1u);
}

}  // namespace
}  // namespace gpubench
