// SPDX-License-Identifier: Apache-2.0
#include "core/formulas.h"

#include <gtest/gtest.h>

#include <vector>

#include "gpubench/error.h"

namespace gpubench {
namespace {

TEST(GemmWork, CountsMultiplyAdds) {
  double counted = 0;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 5; ++j)
      for (int l = 0; l < 7; ++l) counted += 2;
  const Work work = gemm_work(3, 5, 7, 2, 4, 8);
  EXPECT_EQ(work.flops, counted);
  EXPECT_EQ(work.bytes, (3 * 7 + 7 * 5) * 2 + 3 * 5 * 4 + 5 * 8);
  EXPECT_EQ(work.flop_rule, "gemm:2mnk");
}

TEST(GemmWork, LargeSizesDoNotWrap) {
  EXPECT_EQ(gemm_work(1 << 30, 1 << 30, 1 << 30, 1, 1, 0).flops, 0x1p91);
}

TEST(AttentionWork, CountsKeptPositions) {
  const int batch = 2, heads = 3, seq = 11, depth = 5;
  for (const bool causal : {false, true}) {
    double counted = 0;  // two products of depth `depth` for each kept pair of positions
    for (int row = 0; row < seq; ++row)
      for (int column = 0; column < seq; ++column)
        if (!causal || column <= row) counted += 2 * 2 * depth;
    counted *= batch * heads;
    EXPECT_EQ(attention_work(batch, heads, seq, depth, causal, false, 2).flops, counted);
    EXPECT_EQ(attention_work(batch, heads, seq, depth, causal, true, 2).flops, 2.5 * counted);
  }
}

TEST(AttentionWork, CountsEachTensorOnce) {
  const double tensor = 2 * 3 * 11 * 5 * 2, lse = 2 * 3 * 11 * 4;
  EXPECT_EQ(attention_work(2, 3, 11, 5, false, false, 2).bytes, 4 * tensor + lse);
  EXPECT_EQ(attention_work(2, 3, 11, 5, true, true, 2).bytes, 8 * tensor + lse);
}

TEST(AttentionWork, NamesItsRule) {
  EXPECT_EQ(attention_work(1, 1, 1, 1, false, false, 2).flop_rule, "attention:4bhssd");
  EXPECT_EQ(attention_work(1, 1, 1, 1, true, false, 2).flop_rule, "attention:causal");
  EXPECT_EQ(attention_work(1, 1, 1, 1, true, true, 2).flop_rule, "attention:causal*2.5");
}

TEST(ConvWork, CountsEveryProductAndEachTensorOnce) {
  const int n = 2, h = 7, w = 6, c = 4, k = 6, r = 3, s = 2, stride = 2, pad = 1;
  for (const int groups : {1, 2}) {
    int p = 0, q = 0;  // positions of the filter that stay within the padded image
    for (int top = -pad; top + r <= h + pad; top += stride) ++p;
    for (int left = -pad; left + s <= w + pad; left += stride) ++q;
    double counted = 0;
    for (int output = 0; output < n * p * q * k; ++output)
      for (int tap = 0; tap < r * s; ++tap)
        for (int channel = 0; channel < c / groups; ++channel) counted += 2;
    const Work work = conv_work(n, h, w, c, p, q, k, r, s, groups, 2);
    EXPECT_EQ(work.flops, counted);
    EXPECT_EQ(work.bytes, 2.0 * (n * h * w * c + n * p * q * k + k * r * s * c / groups));
    EXPECT_EQ(work.flop_rule, "conv:2npqkcrs/groups");
  }
}

TEST(ConvWork, LargeSizesDoNotWrap) {
  constexpr std::int64_t kLarge = 1 << 30;
  EXPECT_EQ(conv_work(kLarge, 1, 1, kLarge, 1, 1, kLarge, 1, 1, 1, 1).flops, 0x1p91);
}

TEST(MemoryWork, CountsAsStreamDoes) {
  EXPECT_EQ(memory_work("copy", 10, 4).bytes, 80);
  EXPECT_EQ(memory_work("scale", 10, 4).bytes, 80);
  EXPECT_EQ(memory_work("triad", 10, 4).bytes, 120);
  EXPECT_EQ(memory_work("read", 10, 4).bytes, 40);
  EXPECT_EQ(memory_work("copy", 10, 4).flops, 0);
  EXPECT_EQ(memory_work("copy", 10, 4).flop_rule, "");
  EXPECT_EQ(memory_work("scale", 10, 4).flops, 10);
  EXPECT_EQ(memory_work("triad", 10, 4).flops, 20);
  EXPECT_EQ(memory_work("read", 10, 4).flops, 10);
  EXPECT_THROW(memory_work("tirad", 10, 4), ConfigError);
}

TEST(AllReduceWork, BusFactorIsWhatEachRankOfARingSends) {
  for (const int ranks : {2, 3, 4, 5, 8, 16}) {
    // One chunk per rank; a bit of `have` for each rank whose part is in the sum.
    const auto n = static_cast<std::size_t>(ranks);
    const unsigned all = (1u << ranks) - 1;
    std::vector<std::vector<unsigned>> have(n);
    for (std::size_t rank = 0; rank < n; ++rank) have[rank].assign(n, 1u << rank);
    const auto done = [&] {
      for (const auto& chunks : have)
        for (const unsigned chunk : chunks)
          if (chunk != all) return false;
      return true;
    };
    std::size_t chunks_sent = 0;  // by each rank
    for (std::size_t step = 0; !done(); ++step, ++chunks_sent) {
      const auto before = have;
      for (std::size_t rank = 0; rank < n; ++rank) {
        const std::size_t chunk = (rank + 2 * n - step % n) % n;
        have[(rank + 1) % n][chunk] |= before[rank][chunk];
      }
    }
    const Work work = all_reduce_work(n, 4, ranks);
    ASSERT_TRUE(work.bus_factor.has_value());
    EXPECT_DOUBLE_EQ(*work.bus_factor * static_cast<double>(n), static_cast<double>(chunks_sent));
    EXPECT_EQ(work.message_bytes, ranks * 4.0);
    EXPECT_EQ(work.bytes, 0) << "the links bind, not memory";
    EXPECT_EQ(work.flops, 0);
  }
}

TEST(AllReduceWork, FactorsOfNcclTests) {
  EXPECT_EQ(all_reduce_work(1, 1, 2).bus_factor, 1);
  EXPECT_EQ(all_reduce_work(1, 1, 4).bus_factor, 1.5);
  EXPECT_EQ(all_reduce_work(1, 1, 8).bus_factor, 1.75);
  EXPECT_EQ(all_reduce_work(1, 1, 16).bus_factor, 1.875);
}

TEST(AllReduceWork, OneRankCopiesAndHasNoBus) {
  const Work work = all_reduce_work(10, 2, 1);
  EXPECT_EQ(work.message_bytes, 20);
  EXPECT_EQ(work.bytes, 40);
  EXPECT_FALSE(work.bus_factor.has_value()) << "null, not 0";
}

}  // namespace
}  // namespace gpubench
