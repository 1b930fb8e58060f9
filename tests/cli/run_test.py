# SPDX-License-Identifier: Apache-2.0
"""`gpubench run` on the cpu device: what it measures and what it writes where."""
import json
import os
import stat
import subprocess
import time
import unittest

import harness  # first: it makes scripts/ importable
import validate_report
from harness import CASE_FAILED, FINE, QUICK, SMALL_GEMM, USAGE, WRONG_RESULT


class ReportTest(harness.CliTest):
    def assert_valid(self, report):
        schema = validate_report.load(validate_report.SCHEMA)
        self.assertEqual(validate_report.problems(report, schema), [])


class Reports(ReportTest):
    def test_smoke_suite(self):
        report = self.report_of(FINE, "--suite", "smoke", "--device", "cpu")
        self.assert_valid(report)
        self.assertTrue(report["complete"])
        self.assertEqual(report["suite"]["name"], "smoke")
        self.assertEqual([result["status"] for result in report["results"]],
                         ["ok"] * len(report["results"]))
        self.assertEqual(report["summary"]["ok"], len(report["results"]))
        self.assertEqual(report["devices"][0]["arch"], "cpu")
        for result in report["results"]:
            with self.subTest(id=result["id"]):
                self.assertTrue(result["check"]["passed"])
                self.assertLessEqual(result["check"]["error"], result["check"]["tolerance"])
                median = result["time_s"]["median"]
                self.assertGreater(median, 0)
                self.assertEqual(result["time_s"]["n"], len(result["samples_s"]))
                expected = result["work"]["bytes"] / median / 1e9
                self.assertAlmostEqual(result["rate"]["gb_per_s"] / expected, 1, places=6)
                self.assertIsNone(result["peak"]["datasheet_pct"], "a processor has no datasheet peak")
                self.assertIn(result["workload"], result["reproduce"])

    def test_bert_suite_measures_at_least_twenty_cases(self):
        report = self.report_of(FINE, "--suite", "bert", *QUICK)
        self.assert_valid(report)
        self.assertGreaterEqual(report["summary"]["ok"], 20)

    def test_a_workload_that_decides_its_cache_says_so(self):
        report = self.report_of(FINE, "micro/l2", "kernel=read,copy", "bytes=256K", *QUICK)
        self.assert_valid(report)
        for result in report["results"]:
            self.assertEqual(result["status"], "ok")
            self.assertEqual(result["cache"], "hot")
            self.assertEqual(result["work"]["bytes_over"], "l2")
            self.assertIsNone(result["peak"]["memory_pct"])
            self.assertIsNone(result["peak"]["of_measured_roof_pct"], "not the memory's roof")

    def test_what_only_a_gpu_has_is_skipped_with_its_reason(self):
        report = self.report_of(FINE, "micro/transfer", "micro/launch", "micro/clock", *QUICK)
        self.assert_valid(report)
        for result in report["results"]:
            self.assertEqual(result["status"], "skipped")
            self.assertEqual(result["reason"]["code"], "E_UNSUPPORTED_DEVICE")

    def test_lists_multiply_out_and_ids_leave_defaults_out(self):
        report = self.report_of(FINE, *SMALL_GEMM, "dtype=bf16,fp32", *QUICK)
        self.assertEqual([result["id"] for result in report["results"]],
                         ["ops/gemm?k=64&m=32&n=48", "ops/gemm?dtype=fp32&k=64&m=32&n=48"])
        self.assertEqual(report["results"][0]["params"]["dtype"], "bf16")
        self.assertEqual(report["results"][0]["params"]["m"], 32)

    def test_attention_counts_what_the_mask_of_its_parameters_keeps(self):
        seq, keys, window = 9, 14, 4
        given = ("batch=2", "heads=4", "kv_heads=2", f"seq={seq}", f"seq_kv={keys}", "head_dim=8", "causal=1")
        report = self.report_of(FINE, "ops/attention", *given, "causal_align=top_left,bottom_right",
                                f"window=0,{window}", *QUICK)
        self.assert_valid(report)
        self.assertEqual(len({result["id"] for result in report["results"]}), 4)
        for result in report["results"]:
            with self.subTest(id=result["id"]):
                self.assertTrue(result["check"]["passed"])
                bottom = result["params"]["causal_align"] == "bottom_right"
                limit = result["params"]["window"] or keys
                shift = keys - seq if bottom else 0
                kept = sum(0 <= query + shift - key < limit for query in range(seq) for key in range(keys))
                self.assertEqual(result["work"]["flops"], 4 * 2 * 4 * kept * 8)
                self.assertEqual(result["flop_rule"], "attention:" + ("window" if limit == window else "causal") +
                                 ("_bottom_right" if bottom else ""))
        self.expect(USAGE, "run", "ops/attention", "seq=8", "window=3", "--device", "cpu", stderr=["causal=1"])
        self.expect(USAGE, "run", "ops/attention", "heads=6", "kv_heads=4", "--device", "cpu",
                    stderr=["not a multiple of kv_heads=4"])

    def test_conditions_are_recorded(self):
        report = self.report_of(FINE, *SMALL_GEMM, *QUICK, "--cache", "hot", "--data", "uniform",
                                "--seed", "7")
        result = report["results"][0]
        self.assertEqual(result["id"], "ops/gemm?cache=hot&data=uniform&k=64&m=32&n=48")
        self.assertEqual((result["cache"], result["data"]), ("hot", {"dist": "uniform", "seed": 7}))

    def test_burst_is_labelled_apart(self):
        sustained, burst = self.report_of(FINE, *SMALL_GEMM, "mode=sustained,burst", *QUICK)["results"]
        self.assertEqual([sustained["mode"], burst["mode"]], ["sustained", "burst"])
        self.assertNotIn("mode", sustained["id"])
        self.assertIn("mode=burst", burst["id"])
        self.assertIn("--mode burst", burst["reproduce"])
        self.assertEqual(self.report_of(FINE, *SMALL_GEMM, "--mode", "burst", *QUICK)["results"][0]["id"],
                         burst["id"])

    def test_pairs_are_sampled_in_turn_and_compared(self):
        # Long enough for a few turns of each.
        report = self.report_of(FINE, "ops/gemm", "m=32,64", "n=64", "k=64", "dtype=bf16,fp32", "--pair", "dtype",
                                "--device", "cpu", "--warmup", "0", "--min-time", "0.3", "--max-time", "0.6")
        self.assert_valid(report)
        ids = [result["id"] for result in report["results"]]
        self.assertEqual([(pair["a"], pair["b"]) for pair in report["comparisons"]],
                         [(ids[0], ids[1]), (ids[2], ids[3])])
        for result in report["results"]:
            self.assertTrue(result["sampling"]["paired"])
            self.assertEqual(result["sampling"]["block_s"], 0.05)
            self.assertTrue(result["check"]["passed"])
        for pair in report["comparisons"]:
            self.assertLessEqual(pair["ci95"][0], pair["ratio"])
            self.assertLessEqual(pair["ratio"], pair["ci95"][1])

    def test_pair_of_which_one_can_not_run(self):
        report = self.report_of(FINE, *SMALL_GEMM, "impl=cpu,cublaslt", "--pair", "impl", *QUICK)
        self.assertEqual([result["status"] for result in report["results"]], ["ok", "skipped"])
        self.assertFalse(report["results"][0]["sampling"]["paired"])
        self.assertEqual(report["comparisons"], [])

    def test_wrong_side_of_a_pair_has_no_ratio(self):
        report = self.report_of(WRONG_RESULT, *SMALL_GEMM, "dtype=bf16,fp32", "--pair", "dtype", *QUICK,
                                GPUBENCH_FAULT="nan")
        self.assertEqual([result["status"] for result in report["results"]], ["wrong", "wrong"])
        self.assertEqual(report["comparisons"], [])

    def test_bad_pairs(self):
        pair = (*SMALL_GEMM, "dtype=bf16,fp32", *QUICK, "--pair")
        self.expect(USAGE, "run", *pair, "dtipe", stderr=("dtype",))
        self.expect(USAGE, "run", *pair, "m", stderr=("no two cases",))
        self.expect(USAGE, "run", *pair, "dtype", "--isolate", stderr=("--isolate",))
        self.expect(USAGE, "run", *pair, "dtype", "--mode", "burst", stderr=("burst",))
        self.expect(USAGE, "run", *SMALL_GEMM, "dtype=bf16,fp32", "at_once=1", *QUICK, "--pair", "dtype",
                    stderr=("at_once",))

    def test_no_verify_leaves_the_check_null(self):
        report = self.report_of(FINE, *SMALL_GEMM, *QUICK, "--no-verify")
        self.assert_valid(report)
        self.assertIsNone(report["results"][0]["check"])
        self.assertIn("W_NOT_VERIFIED", report["results"][0]["warnings"])

    def test_environment_by_allow_list(self):
        report = self.report_of(FINE, *SMALL_GEMM, *QUICK, NCCL_ALGO="Tree", MY_TOKEN="hidden")
        self.assertEqual(report["environment"].get("NCCL_ALGO"), "Tree")
        self.assertNotIn("hidden", json.dumps(report["environment"]))

    def test_reproduce_gives_the_same_case(self):
        first = self.report_of(FINE, *SMALL_GEMM, "dtype=fp16", *QUICK, "--data", "uniform")
        words = first["results"][0]["reproduce"].split()
        self.assertEqual(words[:2], ["gpubench", "run"])
        again = self.report_of(FINE, *words[2:], "--warmup", "0", "--max-time", "0.05", "--min-time", "0")
        self.assertEqual(again["results"][0]["id"], first["results"][0]["id"])


class Streams(harness.CliTest):
    def test_table_on_stdout_progress_on_stderr(self):
        done = self.expect(FINE, "run", *SMALL_GEMM, *QUICK, "--out", "r.json",
                           stdout=("report: ", "r.json"), stderr=("[1/1]",))
        self.assertNotIn("[1/1]", done.stdout)
        self.assertNotIn("report: ", done.stderr)
        quiet = self.expect(FINE, "run", *SMALL_GEMM, *QUICK, "--out", "r.json", "--quiet")
        self.assertNotIn("[1/1]", quiet.stderr)

    def test_report_on_stdout(self):
        done = self.expect(FINE, "run", *SMALL_GEMM, *QUICK, "--out", "-")
        self.assertEqual(json.loads(done.stdout)["summary"]["ok"], 1)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_default_report_is_a_new_file_here(self):
        self.expect(FINE, "run", *SMALL_GEMM, *QUICK)
        files = list(self.folder.iterdir())
        self.assertEqual([path.suffix for path in files], [".json"], files)

    def test_journal_is_gone_after_the_run(self):
        self.expect(FINE, "run", *SMALL_GEMM, *QUICK, "--out", "r.json")
        self.assertEqual([path.name for path in self.folder.iterdir()], ["r.json"])

    def test_no_colour_without_a_terminal(self):
        done = self.expect(FINE, "run", *SMALL_GEMM, *QUICK)
        self.assertNotIn("\x1b", done.stdout + done.stderr)

    def test_dry_run_runs_and_writes_nothing(self):
        self.assertEqual(self.dry_run_ids(*SMALL_GEMM, "--device", "cpu"), ["ops/gemm?k=64&m=32&n=48"])
        self.assertEqual(list(self.folder.iterdir()), [])


class Outputs(harness.CliTest):
    def test_unwritable_path_is_found_before_the_run(self):
        (self.folder / "folder").mkdir()
        self.write("file", "")
        for path in ("missing/r.json", "folder", "file/r.json"):
            with self.subTest(path=path):
                done = self.run_cli("run", *SMALL_GEMM, *QUICK, "--out", path)
                self.assertEqual(done.returncode, USAGE, done.stderr)
                self.assertIn(path, done.stderr)
                self.assertNotIn("[1/1]", done.stderr)

    @unittest.skipIf(os.geteuid() == 0, "root may write anywhere")
    def test_folder_without_write_permission(self):
        (self.folder / "folder").mkdir()
        (self.folder / "folder").chmod(stat.S_IRUSR | stat.S_IXUSR)
        self.expect(USAGE, "run", *SMALL_GEMM, *QUICK, "--out", "folder/r.json", stderr=("folder",))

    def test_full_disk(self):
        done = self.run_cli("run", *SMALL_GEMM, *QUICK, "--out", "/dev/full")
        self.assertIn(done.returncode, (CASE_FAILED, USAGE), done.stderr)
        self.assertIn("/dev/full", done.stderr)
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/full").st_mode), "the device was replaced by a file")
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = self.run_cli("run", *SMALL_GEMM, *QUICK, "--out", "-", stdout=full)
        self.assertEqual(done.returncode, CASE_FAILED, done.stderr)

    def test_full_disk_still_shows_the_table_and_overwrites_nobodys_file(self):
        done = self.run_cli("run", *SMALL_GEMM, *QUICK, "--out", "/dev/full")
        self.assertIn("1 ok", done.stdout)
        self.assertIn("gpubench-report-", done.stderr)

    def test_unwritable_stdout_is_no_success(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            self.assertEqual(self.run_cli("list", stdout=full).returncode, CASE_FAILED)

    def test_closed_stdout_is_no_success(self):
        done = subprocess.run(f"'{harness.GPUBENCH}' list >&-", shell=True, env=self.environment(), check=False,
                              stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, CASE_FAILED, done.stderr)

    def test_file_size_limit_ends_no_run(self):
        # Enough for a journal's header, too little for the report: the signal would end the process.
        limited = "ulimit -f 1; exec \"$0\" \"$@\""
        done = subprocess.run(["bash", "-c", limited, harness.GPUBENCH, "run", *SMALL_GEMM, *QUICK,
                               "--out", "r.json"], cwd=self.folder, env=self.environment(),
                              capture_output=True, text=True, check=False)
        self.assertIn(done.returncode, (CASE_FAILED, USAGE), done.stderr)
        self.assertIn("File too large", done.stderr)

    def test_second_run_into_one_report_is_refused(self):
        live = subprocess.Popen([harness.GPUBENCH, "run", *SMALL_GEMM, "--device", "cpu", "--min-time", "60",
                                 "--max-time", "60", "--out", "r.json"], cwd=self.folder,
                                env=self.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(live.wait)
        self.addCleanup(live.kill)
        journal = self.folder / "r.json.journal"
        for _ in range(500):
            if journal.exists() and journal.stat().st_size > 0:
                break
            time.sleep(0.02)
        before = journal.read_bytes()
        self.expect(USAGE, "run", *SMALL_GEMM, *QUICK, "--out", "r.json", stderr=("another run", "E_OUTPUT"))
        (self.folder / "link.json").symlink_to("r.json")
        (self.folder / "r.json").touch()
        self.expect(USAGE, "run", *SMALL_GEMM, *QUICK, "--out", "link.json", stderr=("another run",))
        (self.folder / "r.json").unlink()
        self.assertEqual(journal.read_bytes(), before)

    def test_report_with_the_name_of_a_journal(self):
        self.expect(FINE, "run", *SMALL_GEMM, *QUICK, "--out", "r.journal")
        self.expect(FINE, "compare", "r.journal", "r.journal")
        before = json.loads((self.folder / "r.journal").read_text(encoding="utf-8"))
        self.expect(FINE, "run", *SMALL_GEMM, *QUICK, "--resume", "r.journal")
        after = json.loads((self.folder / "r.journal").read_text(encoding="utf-8"))
        self.assertEqual(after["results"], before["results"])
        self.assertEqual([path.name for path in self.folder.iterdir()], ["r.journal"])

    def test_name_of_a_suite_in_the_name_of_its_report(self):
        self.write("mine.json", json.dumps({"name": "../a\x1b[31m\n" + "x" * 300, "summary": "s", "cases": [
            {"workload": "ops/gemm", "shapes": [{"m": 8, "n": 8, "k": 8}]}]}))
        self.expect(FINE, "run", "--suite", "mine.json", *QUICK)
        (name,) = [path.name for path in self.folder.iterdir() if path.name != "mine.json"]
        self.assertTrue(name.startswith("gpubench-.._a_[31m_xxx"), name)

    def test_unwritable_stderr_ends_no_run(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([harness.GPUBENCH, "run", *SMALL_GEMM, *QUICK, "--out", "r.json"],
                                  cwd=self.folder, env=self.environment(), stdout=subprocess.PIPE, stderr=full,
                                  check=False)
        self.assertEqual(done.returncode, FINE)
        json.loads((self.folder / "r.json").read_text(encoding="utf-8"))

    def test_report_is_replaced_as_a_whole(self):
        self.write("r.json", "old")
        self.expect(USAGE, "run", "ops/gemm", "m=0", *QUICK, "--out", "r.json")
        self.assertEqual((self.folder / "r.json").read_text(encoding="utf-8"), "old")
        self.expect(FINE, "run", *SMALL_GEMM, *QUICK, "--out", "r.json")
        json.loads((self.folder / "r.json").read_text(encoding="utf-8"))


if __name__ == "__main__":
    harness.main()
