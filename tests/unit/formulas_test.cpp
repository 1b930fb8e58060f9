// SPDX-License-Identifier: Apache-2.0
#include "core/formulas.h"

#include <gtest/gtest.h>

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

TEST(MicroWork, IsWhatLoopsCount) {
  EXPECT_EQ(transfer_work(true, false, 10).bytes, 10);
  EXPECT_EQ(transfer_work(false, true, 10).bytes_over, "pcie");
  EXPECT_EQ(transfer_work(true, true, 10).bytes, 20);
  EXPECT_EQ(transfer_work(true, true, 10).bytes_over, "pcie_duplex");
  EXPECT_EQ(transfer_work(true, true, 10).flops, 0);
  EXPECT_EQ(cache_work(3, 100).bytes, 300);
  EXPECT_EQ(cache_work(3, 100).bytes_over, "l2");
  EXPECT_EQ(launch_work(7).items, 7);
  EXPECT_EQ(launch_work(7).bytes, 0);
  double fma = 0, mma = 0;
  for (int thread = 0; thread < 3; ++thread)
    for (int i = 0; i < 5; ++i) fma += 2;
  for (int product = 0; product < 3; ++product)
    for (int m = 0; m < 16; ++m)
      for (int n = 0; n < 8; ++n)
        for (int k = 0; k < 4; ++k) mma += 2;
  EXPECT_EQ(fma_work(3, 5).flops, fma);
  EXPECT_EQ(fma_work(3, 5).flop_rule, "fma:2n");
  EXPECT_EQ(mma_work(3, 16, 8, 4).flops, mma);
  EXPECT_EQ(mma_work(3, 16, 8, 4).flop_rule, "mma:2mnk");
  EXPECT_EQ(mma_work(1, 1, 1, 1).bytes_over, "memory");
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

}  // namespace
}  // namespace gpubench
