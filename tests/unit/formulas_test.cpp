// SPDX-License-Identifier: Apache-2.0
#include "core/formulas.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
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

TEST(GemmWork, CountsEveryMatrixOfABatch) {
  double counted = 0;
  for (int matrix = 0; matrix < 4; ++matrix)
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 5; ++j)
        for (int l = 0; l < 7; ++l) counted += 2;
  const Work work = gemm_work(3, 5, 7, 2, 4, 8, 4);
  EXPECT_EQ(work.flops, counted);
  EXPECT_EQ(work.bytes, 4 * ((3 * 7 + 7 * 5) * 2 + 3 * 5 * 4) + 5 * 8);  // one bias for all
  EXPECT_EQ(work.flop_rule, "gemm:2mnk*batch");
}

/// Element by element, each operand once.
TEST(GemmWork, CountsTheMatricesThatAnEpilogueReadsOrWrites) {
  for (const int extra : {0, 1, 2}) {
    for (const int batch : {1, 4}) {
      double bytes = 0;
      for (int column = 0; column < 5; ++column) bytes += 8;  // the bias
      for (int matrix = 0; matrix < batch; ++matrix) {
        for (int i = 0; i < 3; ++i)
          for (int l = 0; l < 7; ++l) bytes += 2;
        for (int l = 0; l < 7; ++l)
          for (int j = 0; j < 5; ++j) bytes += 2;
        for (int like_c = 0; like_c < 1 + extra; ++like_c)
          for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 5; ++j) bytes += 4;
      }
      const Work work = gemm_work(3, 5, 7, 2, 4, 8, batch, extra);
      EXPECT_EQ(work.bytes, bytes) << extra << " " << batch;
      EXPECT_EQ(work.flops, gemm_work(3, 5, 7, 2, 4, 8, batch).flops);
      EXPECT_EQ(work.flop_rule, batch == 1 ? "gemm:2mnk" : "gemm:2mnk*batch");
    }
  }
}

TEST(GemmWork, LargeSizesDoNotWrap) {
  EXPECT_EQ(gemm_work(1 << 30, 1 << 30, 1 << 30, 1, 1, 0).flops, 0x1p91);
}

/// The mask, literally: what docs/measuring.md says it keeps.
bool keeps(const AttentionSizes& sizes, std::int64_t query, std::int64_t key) {
  if (!sizes.causal) return true;
  const std::int64_t last = query + sizes.diagonal;
  return key <= last && (sizes.window == 0 || key > last - sizes.window);
}

TEST(AttentionWork, CountsKeptPositions) {
  for (const std::int64_t seq : {1, 2, 7, 11}) {
    for (const std::int64_t seq_kv : {1, 3, 7, 11, 23}) {
      for (const bool causal : {false, true}) {
        for (const std::int64_t diagonal : {std::int64_t{0}, seq_kv - seq}) {
          for (const std::int64_t window : {0, 1, 2, 5, 11, 40}) {
            AttentionSizes sizes{.batch = 2,
                                 .heads = 6,
                                 .kv_heads = 3,
                                 .seq = seq,
                                 .seq_kv = seq_kv,
                                 .head_dim = 5,
                                 .causal = causal,
                                 .diagonal = diagonal,
                                 .window = window};
            double pairs = 0, flops = 0;
            for (std::int64_t query = 0; query < seq; ++query) {
              for (std::int64_t key = 0; key < seq_kv; ++key) {
                if (!keeps(sizes, query, key)) continue;
                pairs += 1;
                // Two products of that depth for each head of each sequence.
                flops += 2 * 2 * 5 * 2 * 6;
              }
            }
            const std::string shape = "seq " + std::to_string(seq) + " seq_kv " +
                                      std::to_string(seq_kv) + " diagonal " +
                                      std::to_string(diagonal) + " window " +
                                      std::to_string(window) + (causal ? " causal" : "");
            EXPECT_EQ(attention_kept_pairs(sizes), pairs) << shape;
            EXPECT_EQ(attention_work(sizes).flops, flops) << shape;
            sizes.backward = true;
            EXPECT_EQ(attention_work(sizes).flops, 2.5 * flops) << shape;
          }
        }
      }
    }
  }
}

TEST(AttentionWork, CountsEachTensorOnce) {
  AttentionSizes sizes{
      .batch = 2, .heads = 6, .kv_heads = 3, .seq = 11, .seq_kv = 13, .head_dim = 5};
  const double query_side = 2 * 6 * 11 * 5 * 2, key_side = 2 * 3 * 13 * 5 * 2, lse = 2 * 6 * 11 * 4;
  EXPECT_EQ(attention_work(sizes).bytes, 2 * query_side + 2 * key_side + lse);
  sizes.causal = true;
  sizes.backward = true;
  EXPECT_EQ(attention_work(sizes).bytes, 4 * query_side + 4 * key_side + lse);
  sizes.element_bytes = 1;
  EXPECT_EQ(attention_work(sizes).bytes, 2 * query_side + 2 * key_side + lse);
}

TEST(AttentionWork, NamesItsRule) {
  AttentionSizes sizes;
  EXPECT_EQ(attention_work(sizes).flop_rule, "attention:4bhssd");
  sizes.causal = true;
  EXPECT_EQ(attention_work(sizes).flop_rule, "attention:causal");
  sizes.window = 4;
  EXPECT_EQ(attention_work(sizes).flop_rule, "attention:window");
  sizes.seq_kv = 3;
  sizes.diagonal = 2;
  EXPECT_EQ(attention_work(sizes).flop_rule, "attention:window_bottom_right");
  sizes.window = 0;
  sizes.backward = true;
  EXPECT_EQ(attention_work(sizes).flop_rule, "attention:causal_bottom_right*2.5");
  sizes.causal = false;
  EXPECT_EQ(attention_work(sizes).flop_rule, "attention:4bhstd*2.5");
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
