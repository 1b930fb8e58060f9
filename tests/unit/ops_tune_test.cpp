// SPDX-License-Identifier: Apache-2.0
// Which of a library's algorithms is taken, on a device whose time is scripted.
#include <gtest/gtest.h>

#include <cmath>
#include <stop_token>

#include "gpubench/error.h"
#include "libs/libraries.h"
#include "ops/support/tune.h"
#include "tests/unit/fake_device.h"

namespace gpubench {
namespace {

class Tuning : public testing::Test {
 protected:
  Candidate takes(double seconds) {
    return [this, seconds](Stream&, std::size_t) {
      clock.now_s += seconds;
      in_a_row = 0;
    };
  }
  /// As a card at its power limit: fast at first, slow when it goes on.
  Candidate tires(double at_first, double later) {
    return [this, at_first, later](Stream&, std::size_t) {
      clock.now_s += ++in_a_row > 20 ? later : at_first;
    };
  }
  std::size_t chosen(const std::vector<Candidate>& candidates, const Finals& finals = {}) {
    return fastest(context, candidates, finals);
  }

  Clock clock;
  int in_a_row = 0;
  FakeDevice device{clock, false};
  FakeStream stream;
  Libraries libraries;
  Conditions conditions;
  Context context{device, stream, libraries, conditions};
};

const Candidate kRefuses = [](Stream&, std::size_t) {
  throw LibraryError("E_TEST", "no such kernel");
};

TEST_F(Tuning, TakesTheFastestAndSkipsWhatDoesNotRun) {
  EXPECT_EQ(chosen({takes(6e-3), kRefuses, takes(1e-3), takes(4e-3)}), 2u);
  EXPECT_EQ(chosen({kRefuses, takes(1e-3)}), 1u);
  EXPECT_THROW(chosen({kRefuses}), Unsupported);
  EXPECT_THROW(chosen({}), Unsupported);
}

TEST_F(Tuning, FirstStandsUnlessAnotherIsOnePercentFaster) {
  EXPECT_EQ(chosen({takes(1.005e-3), takes(1e-3)}), 0u);
  EXPECT_EQ(chosen({takes(1.015e-3), takes(1e-3)}), 1u);
}

TEST_F(Tuning, JudgesCloseCandidatesByWhatEachDoesAlone) {
  EXPECT_EQ(chosen({takes(1.02e-3), tires(1e-3, 1.1e-3)}), 0u);
  EXPECT_EQ(chosen({tires(1e-3, 1.1e-3), takes(1.02e-3)}), 1u);
  const std::vector<Candidate> far_slower_in_turn{tires(1e-3, 1.15e-3), takes(1.1e-3)};
  EXPECT_EQ(chosen(far_slower_in_turn), 0u);
  EXPECT_EQ(chosen(far_slower_in_turn, {.within = 1.15}), 1u);
}

TEST_F(Tuning, OnlyTheFirstFinalistsMeetAgain) {
  // The last is the fastest alone, but three others are faster in turn.
  const std::vector<Candidate> candidates{takes(1.2e-3), tires(1e-3, 1.1e-3), tires(1e-3, 1.1e-3),
                                          tires(1e-3, 1.1e-3), takes(1.03e-3)};
  EXPECT_EQ(chosen(candidates, {.most = 4}), 4u);
  EXPECT_NE(chosen(candidates, {.most = 3}), 4u);
}

TEST_F(Tuning, SlicesBeforeTheLoadIsSteadyDoNotCount) {
  // The clock falls by half within the first tenth of a second, whatever runs.
  const double begin = clock.now_s;
  const auto under_load = [&](double seconds) {
    return [&, seconds](Stream&, std::size_t) {
      clock.now_s += clock.now_s - begin < 0.1 ? seconds / 2 : seconds;
    };
  };
  EXPECT_EQ(chosen({under_load(1.1e-3), under_load(1e-3)}), 1u);
}

TEST_F(Tuning, ThePowerLimitTakingBackWhatWasDrawnDecidesNothing) {
  for (int phase = 0; phase < 10; ++phase) {
    const double begin = clock.now_s;
    // For 0.3 s of each second everything is slower by a fifth.
    const auto swinging = [&](double seconds) {
      return [&, seconds](Stream&, std::size_t) {
        const double at = clock.now_s - begin + 0.1 * phase;
        clock.now_s += at - std::floor(at) < 0.3 ? 1.2 * seconds : seconds;
      };
    };
    EXPECT_EQ(chosen({swinging(1.03e-3), swinging(1e-3)}), 1u) << phase;
    EXPECT_EQ(chosen({swinging(1e-3), swinging(1.03e-3)}, {.seconds = 0.45}), 0u) << phase;
  }
}

TEST_F(Tuning, EndsWhereItIsAskedTo) {
  std::stop_source source;
  context.stop = source.get_token();
  source.request_stop();
  try {
    chosen({takes(1e-3), takes(2e-3)});
    FAIL() << "went on";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "E_INTERRUPTED");
  }
}

}  // namespace
}  // namespace gpubench
