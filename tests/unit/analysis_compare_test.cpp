// SPDX-License-Identifier: Apache-2.0
// Comparing reports: what is matched, what is said, and what is refused.
#include <gtest/gtest.h>

#include "analysis/compare.h"
#include "analysis/derive.h"
#include "analysis/match.h"
#include "report/reader.h"
#include "report/writer.h"
#include "tests/unit/report_samples.h"

namespace gpubench {
namespace {

Result gemm(double tflops, std::int64_t size = 8192) {
  Result result = sample_gemm(tflops, 1830, size);
  derive(result, sample_h200());
  return result;
}

Result with_id(Result result, const std::string& id) {
  result.id = id;
  return result;
}

std::vector<std::string> verdicts(const CompareReport& compared) {
  std::vector<std::string> words;
  for (const CompareRow& row : compared.rows) words.push_back(row.verdict);
  return words;
}

bool notes(const CompareReport& compared, const std::string& words) {
  for (const std::string& note : compared.notes) {
    if (note.find(words) != std::string::npos) return true;
  }
  return false;
}

using Words = std::vector<std::string>;

TEST(Compare, SpeedupIsMedianOfAOverMedianOfB) {
  const auto compared =
      compare_reports(sample_report({gemm(600), gemm(600, 4096), gemm(600, 2048)}),
                      sample_report({gemm(720), gemm(480, 4096), gemm(602, 2048)}));
  EXPECT_EQ(verdicts(compared), (Words{"faster", "slower", "same"}));
  EXPECT_NEAR(*compared.rows[0].speedup, 1.2, 1e-9);
  EXPECT_LT(*compared.rows[0].ci95_low, 1.2);
  EXPECT_GT(*compared.rows[0].ci95_high, 1.2);
  EXPECT_NEAR(*compared.rows[1].speedup, 0.8, 1e-9);
  EXPECT_NEAR(*compared.mean_speedup, std::cbrt(1.2 * 0.8 * 602 / 600), 1e-9);
  EXPECT_EQ(compared.pairs, 3);
  EXPECT_EQ(compared.comparable, 3);
}

TEST(Compare, ReportWithItselfIsTheSame) {
  const Report report = sample_report({gemm(600), gemm(500, 4096)});
  const auto compared = compare_reports(report, report);
  EXPECT_EQ(verdicts(compared), (Words{"same", "same"}));
  EXPECT_TRUE(compared.notes.empty());
  EXPECT_DOUBLE_EQ(*compared.mean_speedup, 1);
}

TEST(Compare, SeveralResultsOfOneCaseAreNoted) {
  const auto compared = compare_reports(sample_report({gemm(600), gemm(610), gemm(500, 4096)}),
                                        sample_report({gemm(600)}));
  EXPECT_TRUE(notes(compared, "A has several results of " + gemm(600).id));
  EXPECT_FALSE(notes(compared, "B has several"));
}

TEST(Compare, NoisyDifferenceIsTheSame) {
  Result a = gemm(600);
  Result b = gemm(615);
  a.measurement->samples_s = sample_times(a.time_s->median, 0.3, 12);
  b.measurement->samples_s = sample_times(b.time_s->median, 0.3, 12);
  const auto compared = compare_reports(sample_report({a}), sample_report({b}));
  EXPECT_EQ(verdicts(compared), Words{"same"});
}

TEST(Compare, WithoutSamplesTheIntervalsOfTheMediansCount) {
  Result a = gemm(600);
  Result b = gemm(720);
  a.measurement.reset();
  b.measurement.reset();
  auto compared = compare_reports(sample_report({a}), sample_report({b}));
  EXPECT_EQ(verdicts(compared), Words{"faster"});
  EXPECT_NEAR(*compared.rows[0].ci95_low, *a.time_s->ci95_low / *b.time_s->ci95_high, 1e-12);
  a.time_s->ci95_low.reset();
  compared = compare_reports(sample_report({a}), sample_report({b}));
  EXPECT_FALSE(compared.rows[0].ci95_low.has_value());
  EXPECT_EQ(verdicts(compared), Words{"unclear"});
  EXPECT_FALSE(compared.mean_speedup.has_value());
}

TEST(Compare, SameCardUnderAnotherIndex) {
  ReportDevice moved = sample_h200();
  moved.info.index = 4;
  const auto compared =
      compare_reports(sample_report({gemm(600)}), sample_report({gemm(720)}, moved));
  EXPECT_EQ(verdicts(compared), Words{"faster"});
  EXPECT_TRUE(compared.notes.empty());
}

TEST(Compare, DevicesAreMatchedByUuidThenNameThenKind) {
  ReportDevice first = sample_h200();
  ReportDevice second = sample_h200();
  second.info.uuid = "GPU-2";
  ReportDevice a100 = sample_h200();
  a100.info.name = "NVIDIA A100-SXM4-80GB";
  a100.info.uuid = "GPU-3";
  EXPECT_EQ(match_devices({first, second}, {second, first}), (std::vector<int>{1, 0}));
  EXPECT_EQ(match_devices({first, second}, {second}), (std::vector<int>{-1, 0}));
  EXPECT_EQ(match_devices({a100, first}, {second, sample_cpu()}), (std::vector<int>{-1, 0}));
  EXPECT_EQ(match_devices({a100}, {sample_cpu(), first}), (std::vector<int>{1}));
  EXPECT_EQ(match_devices({sample_cpu()}, {first}), (std::vector<int>{-1}));
}

TEST(Compare, ResultsFollowTheirCard) {
  Report a = sample_report({gemm(600)});
  Report b = sample_report({gemm(300), gemm(720)});
  b.devices.insert(b.devices.begin(), sample_h200());
  b.devices[0].info.uuid = "GPU-other";
  b.results[1].device = 1;  // the card of A
  const auto compared = compare_reports(a, b);
  EXPECT_EQ(verdicts(compared), (Words{"faster", "new"}));
}

TEST(Compare, PartialOverlapListsBothSides) {
  const auto compared = compare_reports(
      sample_report({gemm(600, 1024), gemm(600, 2048), gemm(600, 4096), gemm(600, 8192)}),
      sample_report({gemm(900, 512), gemm(600, 2048), gemm(600, 4096), gemm(600, 8192)}));
  EXPECT_EQ(verdicts(compared), (Words{"same", "same", "same", "gone", "new"}));
  EXPECT_EQ(compared.pairs, 3);
  EXPECT_FALSE(compared.nothing_in_common);
  EXPECT_TRUE(compared.mean_speedup.has_value());
  const std::string text = compare_table(compared);
  EXPECT_NE(text.find("3 same, 1 new, 1 gone"), std::string::npos) << text;
}

TEST(Compare, DisjointAndEmptyHaveNothingInCommon) {
  const auto disjoint =
      compare_reports(sample_report({gemm(600, 1024)}), sample_report({gemm(600, 512)}));
  EXPECT_TRUE(disjoint.nothing_in_common);
  EXPECT_FALSE(disjoint.mean_speedup.has_value());
  EXPECT_NE(compare_table(disjoint).find("nothing in common"), std::string::npos);
  const auto empty = compare_reports(sample_report({}), Report{});
  EXPECT_TRUE(empty.nothing_in_common);
  EXPECT_NE(compare_table(empty).find("nothing to compare"), std::string::npos);
  const auto kinds =
      compare_reports(sample_report({gemm(600)}), sample_report({gemm(600)}, sample_cpu()));
  EXPECT_TRUE(kinds.nothing_in_common);
}

TEST(Compare, ResultsThatAreNotOkGetNoRatio) {
  const auto bad = [](Status status, const char* code) {
    Result result = gemm(900);
    result.status = status;
    result.reason = {code, "details"};
    return result;
  };
  for (const auto& [status, word] :
       {std::pair{Status::wrong, "wrong"}, std::pair{Status::failed, "failed"},
        std::pair{Status::skipped, "skipped"}, std::pair{Status::timeout, "timeout"},
        std::pair{Status::not_run, "not_run"}}) {
    for (const bool in_b : {true, false}) {
      const Report good = sample_report({gemm(600)});
      const Report other = sample_report({bad(status, "E_CODE")});
      const auto compared = in_b ? compare_reports(good, other) : compare_reports(other, good);
      EXPECT_EQ(verdicts(compared), Words{word});
      EXPECT_FALSE(compared.rows[0].speedup.has_value());
      EXPECT_FALSE(compared.mean_speedup.has_value());
      EXPECT_EQ(compared.rows[0].remark, std::string(in_b ? "B" : "A") + ": E_CODE: details");
      EXPECT_FALSE((in_b ? compared.rows[0].median_b_s : compared.rows[0].median_a_s).has_value());
    }
  }
  const auto worst = compare_reports(sample_report({bad(Status::wrong, "E_WRONG_RESULT")}),
                                     sample_report({bad(Status::skipped, "E_X")}));
  EXPECT_EQ(verdicts(worst), Words{"wrong"});
}

TEST(Compare, MeanNeedsAllPairsUnlessPartIsAllowed) {
  Result failed = gemm(600, 4096);
  failed.status = Status::failed;
  failed.reason = {"E_CUDA", "x"};
  const Report a = sample_report({gemm(600), gemm(600, 4096)});
  const Report b = sample_report({gemm(720), failed});
  const auto strict = compare_reports(a, b);
  EXPECT_FALSE(strict.mean_speedup.has_value());
  EXPECT_NE(compare_table(strict).find("1 of 2 pairs are comparable"), std::string::npos);
  CompareOptions partial;
  partial.allow_partial = true;
  EXPECT_NEAR(*compare_reports(a, b, partial).mean_speedup, 1.2, 1e-9);
}

TEST(Compare, OtherWorkGetsNoVerdict) {
  CompareOptions sizes;
  sizes.ignore_params = {"m", "n", "k"};
  const auto compared =
      compare_reports(sample_report({gemm(600)}), sample_report({gemm(600, 4096)}), sizes);
  EXPECT_EQ(verdicts(compared), Words{"unlike"});
  EXPECT_NE(compared.rows[0].remark.find("FLOP: A"), std::string::npos);
  EXPECT_FALSE(compared.mean_speedup);
  EXPECT_EQ(compared.pairs, 1);
}

TEST(Compare, OtherConditionsGetNoVerdict) {
  Result zeros = with_id(gemm(750), gemm(750).id + "&zz=0");
  zeros.id = "ops/gemm?data=zeros&dtype=bf16&k=8192&m=8192&n=8192";
  zeros.data_dist = "zeros";
  auto compared = compare_reports(sample_report({gemm(600)}), sample_report({zeros}));
  EXPECT_EQ(verdicts(compared), Words{"unlike"});
  EXPECT_EQ(compared.rows[0].remark, "data: A normal, B zeros");
  EXPECT_NEAR(*compared.rows[0].speedup, 1.25, 1e-9);
  EXPECT_FALSE(compared.mean_speedup.has_value());
  Result seed = gemm(600);
  seed.data_seed = 7;
  compared = compare_reports(sample_report({gemm(600)}), sample_report({seed}));
  EXPECT_EQ(verdicts(compared), Words{"same"});
}

TEST(Compare, FaultOfTheMeasurementIsSuspect) {
  const auto compared = compare_reports(sample_report({gemm(600)}), sample_report({gemm(1100)}));
  EXPECT_EQ(verdicts(compared), Words{"suspect"});
  EXPECT_FALSE(compared.rows[0].speedup.has_value());
}

TEST(Compare, ImplementationsArePairedWhereIdsDiffer) {
  const Result own = with_id(gemm(660), "ops/gemm?dtype=bf16&impl=own&k=8192&m=8192&n=8192");
  const Result peer = with_id(gemm(600), "ops/gemm?dtype=bf16&impl=pytorch&k=8192&m=8192&n=8192");
  EXPECT_EQ(verdicts(compare_reports(sample_report({peer}), sample_report({own}))),
            Words{"faster"});
  // The same id comes first; what is left over pairs with nothing of another size.
  const auto both =
      compare_reports(sample_report({own, gemm(500, 4096)}), sample_report({own, gemm(500, 2048)}));
  EXPECT_EQ(verdicts(both), (Words{"same", "gone", "new"}));
  // One against several: each with the one.
  const auto several = compare_reports(sample_report({gemm(600)}), sample_report({own, peer}));
  EXPECT_EQ(verdicts(several), (Words{"faster", "same"}));
}

TEST(Compare, MatchLeavesOutWhatItIsTold) {
  const Report bf16 = sample_report({gemm(600)});
  const Report fp8 = sample_report({with_id(gemm(900), "ops/gemm?dtype=fp8&k=8192&m=8192&n=8192")});
  EXPECT_TRUE(compare_reports(bf16, fp8).nothing_in_common);
  CompareOptions options;
  options.ignore_params = {"dtype"};
  const auto compared = compare_reports(bf16, fp8, options);
  EXPECT_EQ(verdicts(compared), Words{"faster"});
  EXPECT_NEAR(*compared.rows[0].speedup, 1.5, 1e-9);
}

TEST(Compare, SaysWhatDiffersBetweenTheRuns) {
  Report a = sample_report({gemm(600)});
  Report b = sample_report({gemm(600)});
  b.devices[0].info.name = "NVIDIA H100 PCIe";
  b.devices[0].info.power_limit_w = 500;
  b.devices[0].info.ecc_enabled = false;
  b.libraries["driver"].version = "570.1";
  b.environment["NCCL_ALGO"] = "Tree";
  b.suite.policy["warmup_s"] = 0;
  const auto compared = compare_reports(a, b);
  for (const char* words :
       {"device: A NVIDIA H200, B NVIDIA H100 PCIe", "power limit: A 700 W, B 500 W",
        "ECC: A on, B off", "driver: A 580.159.04, B 570.1", "NCCL_ALGO: A not set, B Tree",
        "warmup_s: A 3 , B 0 "}) {
    EXPECT_TRUE(notes(compared, words)) << words;
  }
  EXPECT_EQ(compared.notes.size(), 6U);
}

TEST(Compare, WorksTheSameOnReportsReadFromJson) {
  const Report a = sample_report({gemm(600), gemm(600, 4096)});
  const Report b = sample_report({gemm(720), gemm(480, 4096)});
  const auto direct = compare_table(compare_reports(a, b));
  const auto read =
      compare_table(compare_reports(parse_report(to_json(a), "a"), parse_report(to_json(b), "b")));
  EXPECT_EQ(read, direct);
}

}  // namespace
}  // namespace gpubench
