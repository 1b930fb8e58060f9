// SPDX-License-Identifier: Apache-2.0
// Tables for people: alignment, what is shown, what is not.
#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/derive.h"
#include "report/case_key.h"
#include "report/table.h"
#include "tests/unit/report_samples.h"
#include "util/text.h"

namespace gpubench {
namespace {

Result derived(Result result, const ReportDevice& device = sample_h200()) {
  derive(result, device);
  return result;
}

bool holds(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

TEST(TextTable, WidthsAreTerminalCells) {
  EXPECT_EQ(display_width("abc"), 3U);
  EXPECT_EQ(display_width("±é"), 2U);
  EXPECT_EQ(display_width("\xF0\x9F\x9A\x80"), 2U);          // rocket
  EXPECT_EQ(display_width("\xE6\xB8\xAC\xE5\xAE\x9A"), 4U);  // two Han characters
  EXPECT_EQ(display_width("e\xCC\x81"), 1U);                 // combining acute
}

TEST(TextTable, TextCanNotTouchTheTerminal) {
  EXPECT_EQ(printable("a\033[31mb\nc\x7f"), "a [31mb c ");
  EXPECT_EQ(printable("x\xC2\x9By\xE2\x80\xAEz"), "x y z");  // C1 CSI, right-to-left override
  EXPECT_EQ(valid_utf8(printable("\xff\xfe")), printable("\xff\xfe"));
}

TEST(TextTable, MessagesKeepTheirLines) {
  EXPECT_EQ(printable_lines("a\033b\n\xff\n"),
            printable("a\033b") + "\n" + printable("\xff") + "\n");
  EXPECT_EQ(printable_lines(""), "");
}

TEST(TextTable, WrapsAtSpaces) {
  EXPECT_EQ(wrap("one two three", 7), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(wrap("extraordinarily long", 5), (std::vector<std::string>{"extraordinarily", "long"}));
  EXPECT_EQ(wrap("", 5), std::vector<std::string>{""});
}

TEST(TextTable, ColumnsLineUpAndEmptyOnesVanish) {
  TextTable table({{"name"}, {"nothing"}, {"value", Align::right}});
  table.add_row({{"é"}, {}, {"1"}}, {"a note"});
  table.add_row({{"longer"}, {}, {"22.5"}});
  EXPECT_EQ(table.render({}),
            "name    value\n"
            "é           1\n"
            "    a note\n"
            "longer   22.5\n");
  TableOptions markdown;
  markdown.markdown = true;
  EXPECT_EQ(table.render(markdown),
            "| name | value |\n| :-- | --: |\n| é | 1 |\n| longer | 22.5 |\n\n- é: a note\n");
}

TEST(TextTable, NarrowTerminalWrapsTheFirstColumnAndNotes) {
  TextTable table({{"case"}, {"time"}});
  table.add_row({{"ops/gemm bf16 k=8192 m=8192 n=8192 layout=tn"}, {"1.5 ms"}},
                {"a remark that is longer than the terminal is wide"});
  TableOptions options;
  options.width = 36;
  const std::string text = table.render(options);
  for (const std::string& line : split(text, '\n')) EXPECT_LE(display_width(line), 36U) << text;
  EXPECT_TRUE(holds(text, "layout=tn"));
}

TEST(TextTable, ColourOnlyWhereAskedFor) {
  TextTable table({{"status"}});
  table.add_row({{"wrong", Tone::bad}});
  EXPECT_FALSE(holds(table.render({}), "\033"));
  TableOptions options;
  options.colour = true;
  EXPECT_TRUE(holds(table.render(options), "\033[31mwrong\033[0m"));
}

TEST(CaseLabels, ShowDtypeAndWhatVaries) {
  Result own = sample_gemm(700, 1830, 4096);
  own.id = "ops/gemm?dtype=bf16&impl=own&k=8192&m=4096&n=8192";
  Result copy;
  copy.id = "micro/memory?kernel=copy";
  copy.workload = "micro/memory";
  EXPECT_EQ(case_labels({sample_gemm(700), own, copy}),
            (std::vector<std::string>{"ops/gemm bf16 m=8192", "ops/gemm bf16 m=4096",
                                      "micro/memory kernel=copy"}));
}

TEST(CaseLabels, ValueAtItsDefaultIsShownWhereOthersDiffer) {
  Result plain = sample_gemm(700);
  Result tuned = sample_gemm(700);
  tuned.id += "&tune=1";
  EXPECT_EQ(case_labels({plain, tuned}),
            (std::vector<std::string>{"ops/gemm bf16 tune=0", "ops/gemm bf16 tune=1"}));
}

TEST(CaseKey, RoundTrip) {
  for (const char* id : {"ops/gemm", "ops/gemm?dtype=bf16&m=1", "x?a=b=c"}) {
    EXPECT_EQ(to_case_id(parse_case_id(id)), id);
  }
}

TEST(ResultTable, ShowsTheNumbersOfAnOkCase) {
  Result result = derived(sample_gemm(700, 1440));
  result.remarks = {"power-capped: at the 700 W limit"};
  const std::string text = result_table(sample_report({result}));
  for (const char* words : {"NVIDIA H200 (H200 SXM 141GB)", "power limit 700 W",
                            "driver 580.159.04", "700.0 TFLOP/s", "70.7 %", "89.9 %", "1440 MHz",
                            "650 W", "±", "    power-capped: at the 700 W limit\n", "1 ok\n"}) {
    EXPECT_TRUE(holds(text, words)) << words << "\n" << text;
  }
  EXPECT_FALSE(holds(text, "default 700 W"));
}

TEST(ResultTable, Int8IsCountedInOperations) {
  Result result = derived(sample_gemm(700, 1440));
  result.params["dtype"] = "int8";
  const std::string text = result_table(sample_report({result}));
  EXPECT_TRUE(holds(text, "700.0 TOP/s")) << text;
  EXPECT_FALSE(holds(text, "FLOP/s")) << text;
}

TEST(ResultTable, NamesTheDefaultLimitWhereItDiffersAndTheUnknownDevice) {
  ReportDevice device = sample_h200();
  device.info.power_limit_w = 500;
  device.match = {std::nullopt, "none: 0x9999"};
  const std::string text = result_table(sample_report({}, device));
  EXPECT_TRUE(holds(text, "power limit 500 W (default 700 W)")) << text;
  EXPECT_TRUE(holds(text, "not in the catalogue (none: 0x9999)")) << text;
}

TEST(ResultTable, MemoryBoundRowsSayMemory) {
  Result result = sample_gemm(100);
  result.work->flops = 1e9;
  result.work->bytes = 39e9;
  result.measurement->samples_s = sample_times(0.01, 0.001);
  const std::string text = result_table(sample_report({derived(result)}));
  EXPECT_TRUE(holds(text, "81.2 % mem") || holds(text, "81.3 % mem")) << text;
  EXPECT_TRUE(holds(text, "GB/s")) << text;
}

TEST(ResultTable, OnlyOkCasesShowNumbers) {
  for (const Status status :
       {Status::skipped, Status::failed, Status::wrong, Status::timeout, Status::not_run}) {
    Result result = derived(sample_gemm(700));
    result.status = status;
    result.reason = {"E_CODE", "why and what to do"};
    const std::string text = result_table(sample_report({result}));
    EXPECT_FALSE(holds(text, "TFLOP/s")) << text;
    EXPECT_TRUE(holds(text, "    E_CODE: why and what to do\n")) << text;
    EXPECT_TRUE(holds(text, std::string(to_string(status)))) << text;
  }
}

TEST(ResultTable, SummaryCountsAndIncompleteRunsAreSaid) {
  Result ok = derived(sample_gemm(700));
  Report report =
      sample_report({ok, ok, sample_unlucky(Status::skipped, "E_OOM_PLANNED", "needs 96 GiB")});
  report.complete = false;
  EXPECT_TRUE(holds(result_table(report), "2 ok, 1 skipped; the run did not end"));
  EXPECT_EQ(summary_text({3, 0, 0, 1, 2, 0, 0}), "3 ok, 1 wrong, 2 timed out");
}

TEST(ResultTable, RemarkOfManyCasesBecomesAFootnote) {
  Result result = derived(sample_gemm(700));
  result.remarks = {"no warm-up"};
  const std::string text = result_table(sample_report({result, result, result}));
  EXPECT_TRUE(holds(text, "ok [1]")) << text;
  EXPECT_TRUE(holds(text, "\n[1] no warm-up\n")) << text;
  EXPECT_EQ(text.find("no warm-up"), text.rfind("no warm-up"));
}

TEST(ResultTable, RatioWithoutAnIntervalIsNoVerdict) {
  Report report = sample_report({derived(sample_gemm(600)), derived(sample_gemm(610, 1830, 4096))});
  report.comparisons = {{report.results[0].id, report.results[1].id, 0, 1.02, {}, {}, "unclear"}};
  EXPECT_TRUE(holds(result_table(report, {}), "1.0200x, too few turns to tell"));
  report.comparisons[0].verdict = "same";
  report.comparisons[0].ci95_low = 0.99;
  report.comparisons[0].ci95_high = 1.03;
  EXPECT_TRUE(holds(result_table(report, {}), "1.0200x (0.9900 to 1.0300), the same"));
}

TEST(ResultTable, SurvivesOddTextAndNoDevices) {
  Result result = derived(sample_gemm(700));
  result.impl = "\xff|\n\033[2J";
  Report report = sample_report({result});
  report.devices[0].info.name = "\xc3(";
  const std::string text = result_table(report);
  EXPECT_EQ(valid_utf8(text), text);
  EXPECT_FALSE(holds(text, "\033"));
  report.devices.clear();
  EXPECT_TRUE(holds(result_table(report), "1 ok"));
  TableOptions markdown;
  markdown.markdown = true;
  EXPECT_TRUE(holds(result_table(report, markdown), "\\|"));
}

}  // namespace
}  // namespace gpubench
