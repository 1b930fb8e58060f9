# SPDX-License-Identifier: Apache-2.0
"""`gpubench burn`: a constant load whose outputs are compared bit by bit."""
import harness  # first: it makes scripts/ importable
import validate_report
from harness import FINE, NO_DEVICE, USAGE, WRONG_RESULT

SMALL = ("ops/gemm", "m=64", "n=64", "k=64")


class Burn(harness.CliTest):
    def burn(self, code, *arguments, **environment):
        self.expect(code, "burn", *arguments, "--out", "r.json", **environment)
        report = self.read_json("r.json")
        schema = validate_report.load(validate_report.SCHEMA)
        self.assertEqual(validate_report.problems(report, schema), [])
        return report["results"]

    def test_holds_a_load_for_the_time_asked(self):
        result, = self.burn(FINE, *SMALL, "--device", "cpu", "--minutes", "0.02")
        self.assertEqual(result["status"], "ok")
        self.assertIn("burn=1", result["id"])
        self.assertGreaterEqual(result["sampling"]["duration_s"], 1.1)
        self.assertIn("bit by bit", result["check"]["reference"])
        self.assertIn("burn=1", result["reproduce"])

    def test_default_work(self):
        result, = self.burn(FINE, "--device", "cpu", "--minutes", "0.01")
        self.assertEqual(result["workload"], "ops/gemm")

    def test_output_that_changes_is_found(self):
        result, = self.burn(WRONG_RESULT, *SMALL, "--device", "cpu", "--minutes", "0.01",
                            GPUBENCH_FAULT="rare_bits")
        self.assertEqual(result["status"], "wrong")
        self.assertIn("silent corruption", result["reason"]["message"])

    def test_bad_arguments(self):
        self.expect(USAGE, "burn", "--minutes", "0", "--device", "cpu", stderr=("--minutes",))
        self.expect(USAGE, "burn", *SMALL, "micro/memory", "--device", "cpu", stderr=("one workload",))
        self.expect(NO_DEVICE, "burn", CUDA_VISIBLE_DEVICES="-1")


if __name__ == "__main__":
    harness.main()
