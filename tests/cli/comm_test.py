# SPDX-License-Identifier: Apache-2.0
"""comm/all_reduce on the cpu device: a world of one says what it is, and faults are found."""

import harness
from harness import FINE, QUICK, USAGE, WRONG_RESULT

SMALL = ("comm/all_reduce", "bytes=4000", "cache=hot")


class AllReduce(harness.CliTest):
    def test_one_rank_has_no_bus_bandwidth(self):
        report = self.report_of(FINE, *SMALL, "dtype=bf16,int32", "op=sum,avg", *QUICK)
        self.assertEqual(report["world"], {"size": 1, "nodes": 1})
        self.assertEqual(len(report["results"]), 4)
        for result in report["results"]:
            self.assertEqual((result["status"], result["impl"], result["emulated"]), ("ok", "cpu", True))
            self.assertIn("W_WORLD_OF_ONE", result["warnings"])
            self.assertTrue(any("no bus bandwidth" in remark for remark in result["remarks"]))
            self.assertIsNone(result["rate"]["busbw_gb_per_s"])
            self.assertIsNone(result["work"]["bus_factor"])
            seconds = result["time_s"]["median"]
            self.assertAlmostEqual(result["rate"]["algbw_gb_per_s"] * seconds * 1e9, 4000, places=6)
            self.assertAlmostEqual(result["rate"]["gb_per_s"] * seconds * 1e9, 8000, places=6)
            self.assertEqual((result["check"]["error"], result["check"]["tolerance"]), (0, 0))
            self.assertIsNone(result["peak"]["memory_pct"])

    def test_planted_faults_are_found(self):
        for fault in ("wrong_element", "unwritten_tile", "swapped_operands", "nan"):
            with self.subTest(fault=fault):
                report = self.report_of(WRONG_RESULT, *SMALL, *QUICK, GPUBENCH_FAULT=fault)
                self.assertEqual(report["results"][0]["status"], "wrong")
                self.assertIn("elements wrong", report["results"][0]["reason"]["message"])

    def test_in_place_needs_several_ranks(self):
        report = self.report_of(FINE, *SMALL, "inplace=1", *QUICK)
        reason = report["results"][0]["reason"]
        self.assertEqual((report["results"][0]["status"], reason["code"]), ("skipped", "E_UNSUPPORTED_WORLD"))
        self.assertIn("inplace=0", reason["message"])

    def test_odd_sizes(self):
        self.expect(USAGE, "run", "comm/all_reduce", "bytes=7", "--device", "cpu", "--dry-run",
                    stderr=("no multiple of the 2 bytes of bf16",))
        self.report_of(FINE, "comm/all_reduce", "bytes=7", "dtype=fp8", "cache=hot", *QUICK)

    def test_ids_leave_defaults_out(self):
        self.assertEqual(self.dry_run_ids("comm/all_reduce", "bytes=256M", "dtype=bf16", "op=sum,max"),
                         ["comm/all_reduce", "comm/all_reduce?op=max"])


if __name__ == "__main__":
    harness.main()
