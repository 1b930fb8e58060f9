# SPDX-License-Identifier: Apache-2.0
"""Cases that can't run, and results that are wrong: each is found, told and counted."""
import json

import harness  # first: it makes scripts/ importable
import validate_report
from harness import CASE_FAILED, FINE, QUICK, SMALL_GEMM, TIME_LIMIT, USAGE, WRONG_RESULT

TOO_BIG = ("ops/gemm", "m=1M", "n=1M", "k=1M")


class ReportTest(harness.CliTest):
    def assert_valid(self, report):
        schema = validate_report.load(validate_report.SCHEMA)
        self.assertEqual(validate_report.problems(report, schema), [])


class CasesThatCanNotRun(ReportTest):
    def test_too_big_is_skipped_with_what_it_needs(self):
        report = self.report_of(FINE, *TOO_BIG, *QUICK)
        self.assert_valid(report)
        result = report["results"][0]
        self.assertEqual((result["status"], result["reason"]["code"]), ("skipped", "E_OOM_PLANNED"))
        self.assertGreaterEqual(result["reason"]["message"].count("GiB"), 2)
        self.assertIsNone(result["time_s"])
        self.report_of(CASE_FAILED, *TOO_BIG, *QUICK, "--fail-on-skip")

    def test_gpu_provider_on_the_cpu_is_skipped(self):
        result = self.report_of(FINE, *SMALL_GEMM, "impl=cublaslt", *QUICK)["results"][0]
        self.assertEqual(result["status"], "skipped")
        self.assertIn("cublaslt", result["reason"]["message"])

    def test_missing_library_is_skipped_with_where_it_was_looked_for(self):
        # The loader stops at a file that is no library, so these hide the real ones.
        hidden = self.folder / "hidden"
        hidden.mkdir()
        for soname in ("libopenblas.so.0", "libmkl_rt.so.2", "libblis.so.4"):
            (hidden / soname).write_text("no library", encoding="utf-8")
        report = self.report_of(FINE, *SMALL_GEMM, *QUICK, LD_LIBRARY_PATH=str(hidden),
                                GPUBENCH_LIB_PATH=str(hidden))
        result = report["results"][0]
        self.assertEqual((result["status"], result["reason"]["code"]), ("skipped", "E_LIBRARY_MISSING"))
        self.assertIn("libopenblas", result["reason"]["message"])
        self.assertIn(str(hidden), result["reason"]["message"])
        self.write("skipped.json", json.dumps(report))
        self.expect(FINE, "run", *SMALL_GEMM, *QUICK, "--resume", "skipped.json")
        result = json.loads((self.folder / "skipped.json").read_text(encoding="utf-8"))["results"][0]
        self.assertEqual(result["status"], "ok", "the library is there now")

    def test_time_limit(self):
        report = self.report_of(TIME_LIMIT, *SMALL_GEMM, "dtype=fp32,bf16,fp16", *QUICK,
                                "--time-limit", "0.001")
        self.assert_valid(report)
        self.assertFalse(report["complete"])
        self.assertEqual(report["results"][-1]["status"], "not_run")
        self.assertEqual(report["results"][-1]["reason"]["code"], "E_TIME_LIMIT")

    def test_fail_fast(self):
        report = self.report_of(WRONG_RESULT, *SMALL_GEMM, "dtype=fp32,bf16", *QUICK, "--fail-fast",
                                GPUBENCH_FAULT="nan")
        self.assertEqual([result["status"] for result in report["results"]], ["wrong", "not_run"])


class PlantedFaults(ReportTest):
    """A wrong element, an unwritten tile, swapped operands or a NaN in any provider is found."""

    def expect_wrong(self, fault):
        report = self.report_of(WRONG_RESULT, "--suite", "smoke", *QUICK, GPUBENCH_FAULT=fault)
        self.assert_valid(report)
        for result in report["results"]:
            with self.subTest(id=result["id"]):
                self.assertEqual(result["status"], "wrong")
                self.assertFalse(result["check"]["passed"])
                self.assertEqual(result["reason"]["code"], "E_WRONG_RESULT")

    def test_wrong_element(self):
        self.expect_wrong("wrong_element")

    def test_unwritten_tile(self):
        self.expect_wrong("unwritten_tile")

    def test_swapped_operands(self):
        self.expect_wrong("swapped_operands")

    def test_nan(self):
        self.expect_wrong("nan")

    def test_misspelt_fault(self):
        self.expect(USAGE, "run", *SMALL_GEMM, *QUICK, GPUBENCH_FAULT="nann", stderr=("nan",))


if __name__ == "__main__":
    harness.main()
