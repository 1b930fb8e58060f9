# SPDX-License-Identifier: Apache-2.0
"""What the cli tests share: the built program ($GPUBENCH), run in a folder of its own."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "scripts/peers")]
GPUBENCH = os.environ.get("GPUBENCH", "")
SANITIZED = os.environ.get("GPUBENCH_SANITIZED") == "1"
HANG_S = 600  # against a hang only: no test asserts a time

# Exit codes (docs/architecture.md).
FINE, CASE_FAILED, USAGE, NO_DEVICE, WRONG_RESULT = 0, 1, 2, 3, 4
NOTHING_COMPARABLE, TIME_LIMIT, INTERRUPTED = 6, 124, 130

# A case that takes milliseconds, and a policy to match.
SMALL_GEMM = ("ops/gemm", "m=32", "n=48", "k=64")
QUICK = ("--device", "cpu", "--warmup", "0", "--min-time", "0.01", "--max-time", "0.05")


class CliTest(unittest.TestCase):
    def setUp(self):
        if not GPUBENCH:
            self.fail("the environment variable GPUBENCH names no program")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        # What a killed run leaves behind goes with the test.
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = scratch.name

    def environment(self, **changes):
        # Variables of the caller that change results or hide libraries stay out.
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith("GPUBENCH_") and name != "CUDA_VISIBLE_DEVICES"}
        return {**kept, "TMPDIR": self.scratch, **changes}

    def run_cli(self, *arguments, stdout=subprocess.PIPE, **environment):
        return subprocess.run([GPUBENCH, *map(str, arguments)], cwd=self.folder,
                              env=self.environment(**environment), stdin=subprocess.DEVNULL,
                              stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=HANG_S,
                              check=False)

    def expect(self, code, *arguments, stderr=(), stdout=(), **environment):
        """Runs, and asserts the exit code and what the streams hold."""
        done = self.run_cli(*arguments, **environment)
        shown = f"gpubench {' '.join(map(str, arguments))}\n{done.stdout}\n{done.stderr}"
        self.assertEqual(done.returncode, code, shown)
        for text in stderr:
            self.assertIn(text, done.stderr, shown)
        for text in stdout:
            self.assertIn(text, done.stdout, shown)
        return done

    def report_of(self, code, *arguments, **environment):
        """Runs with --out, asserts the exit code and returns the report."""
        path = self.folder / "report.json"
        path.unlink(missing_ok=True)
        self.expect(code, "run", *arguments, "--out", path, **environment)
        return json.loads(path.read_text(encoding="utf-8"))

    def read_json(self, name):
        return json.loads((self.folder / name).read_text(encoding="utf-8"))

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def dry_run_ids(self, *arguments):
        done = self.expect(FINE, "run", *arguments, "--dry-run")
        return [line.split()[0] for line in done.stdout.splitlines() if line.strip()]


def main():
    unittest.main()
