# SPDX-License-Identifier: Apache-2.0
"""Whatever bytes stand in arguments, paths and the environment, and whatever the locale: reports are
valid JSON in UTF-8 with decimal points, and nothing reaches the terminal that could drive it."""
import json
import os
import pathlib
import shutil
import subprocess
import unittest

import harness  # first: it makes scripts/ importable
import validate_report
from harness import FINE, GPUBENCH, HANG_S, QUICK, SMALL_GEMM, USAGE

# Not UTF-8, an escape sequence, a newline, quotes, an unpaired surrogate and a rocket.
ODD = b"a\xff\xfe\x1b[31m\n\"'\\\xed\xa0\x80\xf0\x9f\x9a\x80z"


class OddBytes(harness.CliTest):
    def run_bytes(self, *arguments, **environment):
        """As run_cli, with arguments and values as bytes, and bytes back."""
        given = {os.fsencode(name): os.fsencode(value) for name, value in self.environment().items()}
        given.update({os.fsencode(name): value for name, value in environment.items()})
        return subprocess.run([os.fsencode(GPUBENCH), *map(os.fsencode, arguments)], cwd=self.folder,
                              env=given, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=HANG_S, check=False)

    def assert_harmless(self, done):
        """Both streams are UTF-8 without control characters."""
        for stream in (done.stdout, done.stderr):
            text = stream.decode("utf-8")  # strict
            odd = [character for character in text
                   if (ord(character) < 32 and character != "\n") or 127 <= ord(character) < 160]
            self.assertEqual(odd, [], text)

    def report_at(self, path):
        text = pathlib.Path(os.fsdecode(path)).read_bytes().decode("utf-8")  # strict
        report = json.loads(text)
        schema = validate_report.load(validate_report.SCHEMA)
        self.assertEqual(validate_report.problems(report, schema), [])
        return report

    def test_environment(self):
        path = self.folder / "r.json"
        done = self.run_bytes("run", *SMALL_GEMM, *QUICK, "--out", path, NCCL_ALGO=ODD)
        self.assertEqual(done.returncode, FINE, done.stderr)
        self.assert_harmless(done)
        value = self.report_at(path)["environment"]["NCCL_ALGO"]
        self.assertTrue(value.startswith("a\ufffd") and value.endswith("\U0001F680z"), value)
        self.assert_harmless(self.run_bytes("doctor", NCCL_ALGO=ODD))

    def test_name_of_the_report(self):
        path = os.path.join(os.fsencode(self.folder), ODD.replace(b"/", b"") + b".json")
        done = self.run_bytes("run", *SMALL_GEMM, *QUICK, "--out", path)
        self.assertEqual(done.returncode, FINE, done.stderr)
        self.assert_harmless(done)
        report = self.report_at(path)
        self.assertTrue(any(word.endswith("\U0001F680z.json") for word in report["command"]), report["command"])
        again = self.run_bytes("compare", path, path)
        self.assert_harmless(again)

    def test_suite_file(self):
        suite = {"name": "s\x1b[2J\u202e\n", "summary": "x", "policy": {"warmup_s": 0, "min_time_s": 0, "max_time_s": 0.05},
                 "cases": [{"workload": "ops/gemm", "params": {"m": 8, "n": 8, "k": 8}}]}
        path = os.path.join(os.fsencode(self.folder), ODD)
        pathlib.Path(os.fsdecode(path)).write_text(json.dumps(suite), encoding="utf-8")
        out = self.folder / "r.json"
        done = self.run_bytes("run", "--suite", path, *QUICK, "--out", out)
        self.assertEqual(done.returncode, FINE, done.stderr)
        self.assert_harmless(done)
        self.assertEqual(self.report_at(out)["suite"]["name"], suite["name"])

    def test_default_name_from_any_suite_name(self):
        suite = {"name": "a\x00b/../c", "summary": "x", "cases": [{"workload": "ops/gemm", "params": {"m": 8, "n": 8, "k": 8}}]}
        (self.folder / "odd.json").write_text(json.dumps(suite), encoding="utf-8")
        done = self.run_bytes("run", "--suite", "./odd.json", *QUICK)
        self.assertEqual(done.returncode, FINE, done.stderr)
        reports = list(self.folder.glob("gpubench-a_b_.._c-*.json"))
        self.assertEqual(len(reports), 1, list(self.folder.iterdir()))
        self.assertEqual(self.report_at(reports[0])["suite"]["name"], suite["name"])

    def test_messages(self):
        for arguments in (("run", ODD), ("run", "ops/gemm", ODD + b"=1"), ("run", "ops/gemm", b"m=" + ODD),
                          ("run", "ops/gemm", b"dtype=" + ODD), ("run", "--suite", ODD),
                          ("run", "ops/gemm", "--device", ODD), ("run", "ops/gemm", "--filter", ODD),
                          ("show", ODD), ("compare", ODD, ODD), (ODD,), ("run", b"--" + ODD)):
            with self.subTest(arguments=arguments):
                done = self.run_bytes(*arguments)
                self.assertNotEqual(done.returncode, FINE)
                self.assertTrue(done.stderr, "no message")
                self.assert_harmless(done)


@unittest.skipUnless(shutil.which("localedef"), "no localedef (Debian: locales)")
class DecimalComma(harness.CliTest):
    def setUp(self):
        super().setUp()
        made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", self.folder / "de_DE.UTF-8"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        if made.returncode != 0:
            self.skipTest("localedef has no sources of de_DE")
        self.locale = {"LOCPATH": str(self.folder), "LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"}
        shown = subprocess.run(["printf", "%.1f", "1,5"], env={**os.environ, **self.locale},
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
        if shown.stdout != "1,5":
            self.skipTest("the locale does not take effect")

    def test_numbers_keep_their_point(self):
        report = self.report_of(FINE, *SMALL_GEMM, "--device", "cpu", "--warmup", "0.01", "--min-time", "0.02",
                                "--max-time", "0.5", "--max-noise", "2.5", **self.locale)
        self.assertEqual(report["suite"]["policy"]["max_noise"], 0.025)
        self.assertEqual(report["suite"]["policy"]["max_time_s"], 0.5)
        path = self.folder / "report.json"
        table = self.expect(FINE, "compare", path, path, **self.locale).stdout
        self.assertNotRegex(table, r"\d,\d")
        self.assertRegex(table, r"\d\.\d")
        again = self.expect(FINE, "run", *SMALL_GEMM, *QUICK, **self.locale).stdout
        self.assertNotRegex(again, r"\d,\d")
        # A comma separates values, whatever the locale.
        self.assertEqual(len(self.dry_run_ids("ops/gemm", "m=16,32", "--device", "cpu")), 2)

    def test_a_decimal_comma_is_a_mistake(self):
        self.expect(USAGE, "run", *SMALL_GEMM, "--device", "cpu", "--min-time", "0,5", **self.locale)


if __name__ == "__main__":
    harness.main()
