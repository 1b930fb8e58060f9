# SPDX-License-Identifier: Apache-2.0
"""`gpubench compare`: reports set against each other."""
import json

import harness  # first: it makes scripts/ importable
from harness import FINE, NOTHING_COMPARABLE, QUICK, SMALL_GEMM, USAGE


class Compare(harness.CliTest):
    def setUp(self):
        super().setUp()
        self.base = self.report_of(FINE, *SMALL_GEMM, "dtype=bf16,fp32", *QUICK)
        self.write("a.json", json.dumps(self.base))

    def changed(self, change):
        report = json.loads(json.dumps(self.base))
        for result in report["results"]:
            change(result)
        self.write("b.json", json.dumps(report))

    def test_with_itself(self):
        done = self.expect(FINE, "compare", "a.json", "a.json", stdout=("same",))
        self.assertNotIn("slower", done.stdout)

    def test_twice_as_slow(self):
        def slow_down(result):
            for key in ("median", "p05", "p95", "mean", "stdev"):
                result["time_s"][key] *= 2
            result["time_s"]["ci95"] = [2 * end for end in result["time_s"]["ci95"]]
            result["samples_s"] = [2 * sample for sample in result["samples_s"]]

        self.changed(slow_down)
        self.expect(FINE, "compare", "a.json", "b.json", stdout=("slower",))
        self.expect(FINE, "compare", "b.json", "a.json", stdout=("faster",))

    def test_other_implementation_is_paired_without_impl(self):
        def rename(result):
            result["impl"] = result["params"]["impl"] = "other"
            name, _, given = result["id"].partition("?")
            result["id"] = name + "?" + "&".join(sorted(given.split("&") + ["impl=other"]))

        self.changed(rename)
        self.expect(FINE, "compare", "a.json", "b.json")
        self.expect(FINE, "compare", "a.json", "b.json", "--match", "impl")
        self.expect(USAGE, "compare", "a.json", "b.json", "--match", "dtyp", stderr=("'dtyp'", "'dtype'"))

    def test_nothing_in_common(self):
        other = self.report_of(FINE, "ops/gemm", "m=16", "n=16", "k=16", *QUICK)
        self.write("b.json", json.dumps(other))
        self.expect(NOTHING_COMPARABLE, "compare", "a.json", "b.json")

    def test_bad_reports(self):
        self.expect(USAGE, "compare", "a.json", "none.json", stderr=("none.json",))
        self.write("b.json", json.dumps(self.base)[:500])
        self.expect(USAGE, "compare", "a.json", "b.json", stderr=("b.json",))
        self.write("b.json", '{"schema": "other/1"}')
        self.expect(USAGE, "compare", "a.json", "b.json", stderr=("b.json", "other/1"))
        self.expect(USAGE, "compare", "a.json")


if __name__ == "__main__":
    harness.main()
