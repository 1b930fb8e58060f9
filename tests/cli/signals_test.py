# SPDX-License-Identifier: Apache-2.0
"""SIGINT, SIGTERM, SIGHUP: the report is saved with what was measured, and the exit code is 130."""
import json
import signal
import subprocess
import time

import harness  # first: it makes scripts/ importable
import validate_report
from harness import INTERRUPTED

CASES = 300  # of 0.2 s each: the signal arrives long before the end
MANY_SIZES = "n=" + ",".join(str(size) for size in range(16, 16 + CASES))


class Signals(harness.CliTest):
    def command(self, sizes=MANY_SIZES):
        return [harness.GPUBENCH, "run", "ops/gemm", "m=16", "k=16", sizes, "--device", "cpu",
                "--warmup", "0", "--min-time", "0.2", "--max-time", "0.2", "--out", "r.json"]

    def start(self, sizes=MANY_SIZES):
        process = subprocess.Popen(self.command(sizes), cwd=self.folder, env=self.environment(),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        return process

    def wait_for_cases(self, process, count):
        """Reads progress until that many cases have ended."""
        seen = []
        for line in process.stderr:
            seen.append(line)
            if line.startswith(f"[{count}/"):
                return
        self.fail("".join(seen))

    def expect_saved(self, signal_number):
        process = self.start()
        self.wait_for_cases(process, 2)
        process.send_signal(signal_number)
        process.communicate(timeout=harness.HANG_S)
        self.assertEqual(process.returncode, INTERRUPTED)
        report = json.loads((self.folder / "r.json").read_text(encoding="utf-8"))
        schema = validate_report.load(validate_report.SCHEMA)
        self.assertEqual(validate_report.problems(report, schema), [])
        self.assertFalse(report["complete"])
        self.assertEqual([result["status"] for result in report["results"][:2]], ["ok", "ok"])
        last = report["results"][-1]
        self.assertEqual((last["status"], last["reason"]["code"]), ("not_run", "E_INTERRUPTED"))
        self.assertEqual(len(report["results"]), CASES)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["r.json"], "the journal is left")

    def test_hangup(self):
        self.expect_saved(signal.SIGHUP)

    def test_hangup_that_the_parent_ignores(self):
        command = ["nohup", harness.GPUBENCH, "run", "ops/gemm", "m=16", "k=16", "n=16,17,18,19",
                   "--device", "cpu", "--warmup", "0", "--min-time", "0.2", "--max-time", "0.2",
                   "--out", "r.json"]
        process = subprocess.Popen(command, cwd=self.folder, env=self.environment(),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        self.wait_for_cases(process, 1)
        process.send_signal(signal.SIGHUP)
        process.communicate(timeout=harness.HANG_S)
        self.assertEqual(process.returncode, harness.FINE)

    def test_second_interrupt_of_a_case_that_does_not_return(self):
        # The second case is verified for longer than the test lasts, without looking at signals.
        command = [harness.GPUBENCH, "run", "ops/gemm", "m=16", "k=16", "n=16",
                   "ops/gemm", "m=5120", "n=5120", "k=5120", "epilogue=bias_gelu", "dtype=fp32",
                   "--device", "cpu", "--out", "r.json", "--min-time", "0.05"]
        process = subprocess.Popen(command, cwd=self.folder, env=self.environment(),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        self.wait_for_cases(process, 1)
        time.sleep(1)
        for _ in range(2):
            process.send_signal(signal.SIGINT)
            time.sleep(0.5)
        process.communicate(timeout=harness.HANG_S)
        self.assertEqual(process.returncode, INTERRUPTED)
        report = json.loads((self.folder / "r.json").read_text(encoding="utf-8"))
        schema = validate_report.load(validate_report.SCHEMA)
        self.assertEqual(validate_report.problems(report, schema), [])
        self.assertEqual([result["status"] for result in report["results"]], ["ok", "not_run"])
        self.assertFalse(report["complete"])

    def test_interrupt(self):
        self.expect_saved(signal.SIGINT)

    def test_terminate(self):
        self.expect_saved(signal.SIGTERM)

    def test_two_signals_at_once_are_one(self):
        # timeout(1) signals the process and then its group.
        process = self.start()
        self.wait_for_cases(process, 2)
        for _ in range(2):
            process.send_signal(signal.SIGTERM)
            time.sleep(0.01)
        table, messages = process.communicate(timeout=harness.HANG_S)
        self.assertEqual(process.returncode, INTERRUPTED)
        self.assertIn("report: r.json", table)
        self.assertNotIn("leaving", messages)

    def test_kill_leaves_finished_cases_in_the_journal(self):
        process = self.start()
        self.wait_for_cases(process, 3)  # the third may not be in the journal yet, two are
        process.kill()
        process.communicate(timeout=harness.HANG_S)
        self.expect(harness.FINE, "compare", "r.json.journal", "r.json.journal")
        journals = [path for path in self.folder.iterdir() if path.name.startswith("r.json")]
        self.assertEqual(len(journals), 1, journals)
        lines = journals[0].read_text(encoding="utf-8").splitlines()
        finished = [json.loads(line) for line in lines[1:3]]
        self.assertEqual([result["status"] for result in finished], ["ok", "ok"])

    def test_resume_runs_only_what_is_missing(self):
        few = "n=" + ",".join(str(size) for size in range(16, 24))
        process = self.start(sizes=few)
        self.wait_for_cases(process, 3)
        process.kill()
        process.communicate(timeout=harness.HANG_S)
        done = [json.loads(line) for line in
                (self.folder / "r.json.journal").read_text(encoding="utf-8").splitlines()[1:]]
        self.expect(harness.USAGE, *self.command(sizes=few)[1:], "--resume", "r.json.journal",
                    "--max-noise", "7", stderr=("noise",))
        self.expect(harness.USAGE, "run", "--suite", "smoke", "--device", "cpu", "--resume",
                    "r.json.journal", stderr=("another suite",))
        for other in (("--filter", "*n=23*"), ("--seed", "5"), ("--cache", "hot")):
            self.expect(harness.USAGE, *self.command(sizes=few)[1:], "--resume", "r.json.journal", *other,
                        stderr=("finished cases are not in this run",))
        for other, why in ((("--no-verify",), "verified"), (("--repeat", "3"), "--repeat 1")):
            self.expect(harness.USAGE, *self.command(sizes=few)[1:], "--resume", "r.json.journal", *other,
                        stderr=(why,))
        whole = (self.folder / "r.json.journal").read_text(encoding="utf-8")
        self.write("other-name", whole)
        self.expect(harness.FINE, "compare", "other-name", "r.json.journal")
        self.write("damaged", whole.replace('"median":', '"median":-', 1))
        self.expect(harness.USAGE, *self.command(sizes=few)[1:], "--resume", "damaged",
                    stderr=("has no time",))
        for name in ("other-name", "damaged"):
            (self.folder / name).unlink()
        with open(self.folder / "r.json.journal", "a", encoding="utf-8") as journal:
            journal.write('{"id": "ops/g')
        resumed = self.expect(harness.FINE, *self.command(sizes=few)[1:-2], "--resume",
                              "r.json.journal", stderr=(f"/{8 - len(done)}]", "within a record"))
        self.assertIn("8 ok", resumed.stdout)
        report = json.loads((self.folder / "r.json").read_text(encoding="utf-8"))
        self.assertTrue(report["complete"])
        self.assertEqual(report["results"][:len(done)], done, "taken over as they were")
        self.assertEqual([path.name for path in self.folder.iterdir()], ["r.json"])
        self.expect(harness.FINE, *self.command(sizes=few)[1:-2], "--resume", "r.json")
        again = json.loads((self.folder / "r.json").read_text(encoding="utf-8"))
        for key in ("created", "libraries", "results"):
            self.assertEqual(again[key], report[key], f"{key} of a run that had nothing left to do")

    def test_reader_that_leaves_early(self):
        process = subprocess.Popen([harness.GPUBENCH, "show", "bert-full"], cwd=self.folder,
                                   env=self.environment(), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        process.stdout.close()
        process.stderr.read()
        self.assertGreaterEqual(process.wait(timeout=harness.HANG_S), 0, "killed by a signal")
        process.stderr.close()


if __name__ == "__main__":
    harness.main()
