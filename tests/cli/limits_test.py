# SPDX-License-Identifier: Apache-2.0
"""--timeout and --isolate: what a case may take, and what it may break."""
import os
import pathlib
import signal
import subprocess
import time

import harness  # first: it makes scripts/ importable
import validate_report
from harness import CASE_FAILED, FINE, INTERRUPTED, QUICK, TIME_LIMIT, WRONG_RESULT

SMALL = ("ops/gemm", "m=16", "n=16", "k=16")
OTHER = ("ops/gemm", "m=32", "n=16", "k=16")
# Verified for longer than any test lasts, without looking at stop requests.
STUCK = ("ops/gemm", "m=6144", "n=6144", "k=6144", "epilogue=bias_gelu", "dtype=fp32")
# Sampled for longer than any test lasts.
LONG = ("--device", "cpu", "--warmup", "0", "--min-time", "500", "--max-time", "500")


class Limits(harness.CliTest):
    def statuses(self, code, *arguments, **environment):
        report = self.report_of(code, *arguments, **environment)
        schema = validate_report.load(validate_report.SCHEMA)
        self.assertEqual(validate_report.problems(report, schema), [])
        return [(result["status"], (result["reason"] or {}).get("code")) for result in report["results"]]

    def test_timeout_ends_a_case_and_the_run_goes_on(self):
        self.assertEqual(self.statuses(CASE_FAILED, *SMALL, *OTHER, *LONG, "--timeout", "0.5"),
                         [("timeout", "E_TIMEOUT")] * 2)

    def test_case_that_does_not_end_at_its_timeout_ends_the_run(self):
        shown = self.expect(TIME_LIMIT, "run", *STUCK, *QUICK, "--timeout", "8", "--out", "r.json")
        self.assertIn("1 timed out", shown.stdout)
        self.assertIn("report: r.json", shown.stdout)
        self.assertEqual(
            self.statuses(TIME_LIMIT, *SMALL, *STUCK, *OTHER, *QUICK, "--timeout", "8"),
            [("ok", None), ("timeout", "E_TIMEOUT"), ("not_run", "E_STUCK")])

    def test_isolated_case_that_does_not_end_is_killed(self):
        self.assertEqual(
            self.statuses(CASE_FAILED, *SMALL, *STUCK, *OTHER, *QUICK, "--timeout", "8", "--isolate"),
            [("ok", None), ("timeout", "E_TIMEOUT"), ("ok", None)])

    def test_isolated_results_are_those_of_one_process(self):
        arguments = (*SMALL, "dtype=fp32,bf16", "micro/memory", "bytes=1M", "cache=hot", *QUICK,
                     "--seed", "7", "--data", "uniform")
        one, own = (self.report_of(FINE, *arguments, *more) for more in ((), ("--isolate",)))
        for a, b in zip(one["results"], own["results"], strict=True):
            for key in ("id", "params", "status", "data", "cache", "impl", "check", "work", "reproduce"):
                self.assertEqual(a[key], b[key], key)
        self.assertEqual(one["libraries"], own["libraries"])
        self.assertEqual(one["suite"], own["suite"])

    def test_repeated_runs_are_kept_beside_the_middle_one(self):
        report = self.report_of(FINE, *SMALL, *QUICK, "--repeat", "3")
        result = report["results"][0]
        medians = result["repeats"]["medians_s"]
        self.assertEqual(len(medians), 3)
        self.assertEqual(result["time_s"]["median"], sorted(medians)[1])
        self.assertIsNone(self.report_of(FINE, *SMALL, *QUICK)["results"][0]["repeats"])

    def test_no_folder_for_an_isolated_case(self):
        self.assertEqual(
            self.statuses(CASE_FAILED, *SMALL, *OTHER, *QUICK, "--isolate", TMPDIR="/no/such/folder"),
            [("failed", "E_ISOLATE")] * 2)

    def test_isolated_fault_is_found(self):
        self.assertEqual(
            self.statuses(WRONG_RESULT, *SMALL, *QUICK, "--isolate", GPUBENCH_FAULT="wrong_element"),
            [("wrong", "E_WRONG_RESULT")])

    def test_profile_runs_once_and_measures_nothing(self):
        self.assertEqual(self.statuses(FINE, *SMALL, *QUICK, "--profile"), [("not_run", "E_PROFILED")])
        self.assertEqual(self.statuses(WRONG_RESULT, *SMALL, *QUICK, "--profile", GPUBENCH_FAULT="nan"),
                         [("wrong", "E_WRONG_RESULT")])
        self.expect(harness.USAGE, "run", *SMALL, *QUICK, "--profile", "--isolate", stderr=("--profile",))

    def children(self, process):
        path = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
        return [int(word) for word in path.read_text(encoding="utf-8").split()]

    def start_isolated(self, *cases):
        process = subprocess.Popen([harness.GPUBENCH, "run", *cases, "--isolate", "--out", "r.json"],
                                   cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        while not self.children(process):
            self.assertIsNone(process.poll(), "ended before it started a process")
            time.sleep(0.01)
        time.sleep(0.5)  # until it samples
        return process

    def test_crash_ends_only_its_case(self):
        process = self.start_isolated(*SMALL, *OTHER, *LONG)
        first = self.children(process)
        os.kill(first[0], signal.SIGSEGV)
        while not set(self.children(process)) - set(first):
            time.sleep(0.01)
        time.sleep(0.5)
        os.kill(self.children(process)[0], signal.SIGKILL)
        self.assertEqual((process.communicate(timeout=harness.HANG_S), process.returncode)[1], CASE_FAILED)
        results = self.read_json("r.json")["results"]
        self.assertEqual([result["reason"]["code"] for result in results], ["E_CRASH", "E_CRASH"])
        self.assertIn("signal 9", results[1]["reason"]["message"])

    def test_interrupt_reaches_the_process(self):
        process = self.start_isolated(*SMALL, *OTHER, *LONG)
        child = self.children(process)[0]
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=harness.HANG_S)
        self.assertEqual(process.returncode, INTERRUPTED)
        self.assertFalse(pathlib.Path(f"/proc/{child}").exists())
        self.assertEqual([result["status"] for result in self.read_json("r.json")["results"]],
                         ["not_run", "not_run"])

    def test_killed_parent_leaves_no_process(self):
        process = self.start_isolated(*SMALL, *LONG)
        child = self.children(process)[0]
        process.kill()
        process.communicate(timeout=harness.HANG_S)
        for _ in range(500):
            state = pathlib.Path(f"/proc/{child}/stat")
            if not state.exists() or " Z " in state.read_text(encoding="utf-8"):
                return
            time.sleep(0.01)
        self.fail("the isolated process is still there")


if __name__ == "__main__":
    harness.main()
