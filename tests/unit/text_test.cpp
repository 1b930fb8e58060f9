// SPDX-License-Identifier: Apache-2.0
#include "util/text.h"

#include <gtest/gtest.h>

#include <limits>

namespace gpubench {
namespace {

using Words = std::vector<std::string>;

TEST(Nearest, FindsMisspeltNames) {
  const Words types{"fp32", "tf32", "fp16", "bf16", "fp8"};
  EXPECT_EQ(nearest("bf61", types), "bf16");  // swapped neighbours are one edit
  EXPECT_EQ(nearest("BF16", types), "bf16");
  EXPECT_EQ(nearest("fp166", types), "fp16");
  EXPECT_EQ(nearest("dtpye", {"layout", "dtype", "epilogue"}), "dtype");
}

TEST(Nearest, FindsBeginningsAndParts) {
  const Words names{"micro/memory", "ops/attention", "ops/gemm"};
  EXPECT_EQ(nearest("ops/att", names), "ops/attention");
  EXPECT_EQ(nearest("gemm", names), "ops/gemm");
  EXPECT_EQ(nearest("atention", names), "ops/attention");
  EXPECT_EQ(nearest("mem", names), "micro/memory");
  EXPECT_EQ(nearest("micro/mem", {"micro/l2", "micro/memory"}), "micro/memory");
  EXPECT_EQ(nearest("h200", {"b200", "h200-sxm-141gb"}), "h200-sxm-141gb");
}

TEST(Nearest, PrefersFewerEditsOverParts) {
  EXPECT_EQ(nearest("bret", {"bert-full", "bert"}), "bert");
  EXPECT_EQ(nearest("heds", {"head_dim", "heads"}), "heads");
}

TEST(Nearest, IsSilentWhereNothingIsClose) {
  EXPECT_EQ(nearest("xyz", {"m", "n", "k", "dtype"}), "");
  EXPECT_EQ(nearest("q", {"m", "n", "k"}), "");  // one letter for another says nothing
  EXPECT_EQ(nearest("", {"m"}), "");
  EXPECT_EQ(nearest("m", {}), "");
  EXPECT_EQ(suggestion("xyz", {"dtype"}), "");
  EXPECT_EQ(suggestion("dtyp", {"dtype"}), "; did you mean 'dtype'?");
}

TEST(Glob, Matches) {
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("ops/*", "ops/gemm"));
  EXPECT_TRUE(glob_match("*bf16*m=4096", "ops/gemm?dtype=bf16&k=1&m=4096"));
  EXPECT_TRUE(glob_match("a*b*c", "aXbYbZc"));
  EXPECT_TRUE(glob_match("?p8", "fp8"));
  EXPECT_FALSE(glob_match("ops/*", "micro/memory"));
  EXPECT_FALSE(glob_match("a?", "a"));
  EXPECT_FALSE(glob_match("", "a"));
  EXPECT_FALSE(glob_match("a*b", "abc"));
  EXPECT_TRUE(is_glob("a*"));
  EXPECT_TRUE(is_glob("?"));
  EXPECT_FALSE(is_glob("ops/gemm"));
}

TEST(Glob, StaysQuickOnManyStars) {
  const std::string text(5000, 'a');
  EXPECT_FALSE(glob_match("*a*a*a*a*a*a*a*b", text));
}

TEST(Split, KeepsEmptyPieces) {
  EXPECT_EQ(split("a,b", ','), (Words{"a", "b"}));
  EXPECT_EQ(split("", ','), (Words{""}));
  EXPECT_EQ(split(",a,,", ','), (Words{"", "a", "", ""}));
  EXPECT_EQ(join({"a", "", "b"}, ", "), "a, , b");
  EXPECT_EQ(join({}, ", "), "");
}

TEST(Utf8, KeepsWhatIsValid) {
  const std::string text = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80";
  EXPECT_EQ(valid_utf8(text), text);
}

TEST(Utf8, ReplacesEveryInvalidByte) {
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(valid_utf8("a\xFFz"), "a" + bad + "z");
  EXPECT_EQ(valid_utf8("\xC3"), bad);                                // cut off
  EXPECT_EQ(valid_utf8("\xE2\x82"), bad + bad);                      // cut off
  EXPECT_EQ(valid_utf8("\xC0\xAF"), bad + bad);                      // overlong '/'
  EXPECT_EQ(valid_utf8("\xED\xA0\x80"), bad + bad + bad);            // surrogate
  EXPECT_EQ(valid_utf8("\xF4\x90\x80\x80"), bad + bad + bad + bad);  // above U+10FFFF
  EXPECT_EQ(valid_utf8("\x80"
                       "a"),
            bad + "a");
}

TEST(FormatTime, HasThreeDigits) {
  EXPECT_EQ(format_time(12.34e-6), "12.3 us");
  EXPECT_EQ(format_time(1.0), "1.00 s");
  EXPECT_EQ(format_time(999.6e-6), "1.00 ms");
  EXPECT_EQ(format_time(99.96e-3), "100 ms");
  EXPECT_EQ(format_time(1234), "1234 s");
  EXPECT_EQ(format_time(0), "0.00 ns");
  EXPECT_EQ(format_time(std::numeric_limits<double>::quiet_NaN()), "-");
  EXPECT_EQ(format_time(std::numeric_limits<double>::infinity()), "-");
}

TEST(FormatGib, IsBinary) {
  EXPECT_EQ(format_gib(std::uint64_t{25} << 29), "12.5 GiB");
  EXPECT_EQ(format_gib(512), "512 B");
  EXPECT_EQ(format_gib(1536), "1.50 KiB");
  EXPECT_EQ(format_gib(std::uint64_t{1} << 20), "1.00 MiB");
  EXPECT_EQ(format_gib((std::uint64_t{1} << 30) - 1), "1.00 GiB");
  EXPECT_EQ(format_gib(std::uint64_t{2} << 40), "2048 GiB");
}

}  // namespace
}  // namespace gpubench
