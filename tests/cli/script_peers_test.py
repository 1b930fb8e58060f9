# SPDX-License-Identifier: Apache-2.0
"""scripts/peers: statistics, ids, work and reports, without PyTorch or a GPU."""
import json
import math
import pathlib
import random
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts/peers"), str(ROOT / "scripts")]
import alternate  # noqa: E402
import peer_cases  # noqa: E402
import peer_report  # noqa: E402
import peer_sampler  # noqa: E402
import peer_stats  # noqa: E402
import peer_telemetry  # noqa: E402
import validate_report  # noqa: E402

Case = peer_cases.Case


def report_of(impl, seconds_by_case, library_path="/lib/libcublasLt.so.13"):
    """A report in which each case took these seconds (None: skipped)."""
    results = []
    for case, seconds in seconds_by_case:
        result = peer_report.result_object(case, impl, seed=1)
        if seconds is None:
            peer_report.end_with(result, "skipped", "E_OOM", "too big")
        else:
            samples = [seconds * (1 + 1e-4 * (i % 5 - 2)) for i in range(40)]
            peer_report.add_measurement(result, case, {
                "samples_s": samples, "time_s": peer_stats.describe(samples, "noise"),
                "kind": "stream", "batch": 2, "warmup_s": 0.5, "duration_s": 1.0, "dropped": 0,
                "launch_bound": False})
        results.append(result)
    libraries = peer_report.libraries_object({"cublaslt": library_path}, {"cublaslt": "13.1.0"})
    device = peer_report.device_object(name="NVIDIA H200", arch="sm_90", sm_count=132)
    policy = {"warmup_s": 0.5, "min_time_s": 1.0, "max_time_s": 3.0, "max_noise": 0.005}
    return peer_report.report_object("1.0", "13.0", libraries, device, policy, results, 3.0, True)


class Statistics(unittest.TestCase):
    def test_description(self):
        found = peer_stats.describe([1.0, 2.0, 3.0, 4.0, math.nan, -1.0, 0.0], "max_time")
        self.assertEqual((found["median"], found["mean"], found["n"]), (2.5, 2.5, 4))
        self.assertAlmostEqual(found["stdev"], math.sqrt(5 / 3))
        self.assertIsNone(peer_stats.describe([math.nan, 0.0], "max_time"))
        self.assertIsNone(peer_stats.describe([1.0], "max_time")["stdev"])
        self.assertIsNone(peer_stats.describe([1.0, 2.0], "max_time")["ci95"])

    def test_interval_holds_the_median_and_grows_with_correlation(self):
        generator = random.Random(3)
        noise = [generator.gauss(0, 1) for _ in range(400)]
        independent = [100 + value for value in noise]
        walk = 100.0
        correlated = []
        for value in noise:
            walk += 0.95 * (100 - walk) * 0.05 + 0.3 * value
            correlated.append(walk)
        low, high = peer_stats.median_ci95(independent)
        self.assertLess(low, peer_stats.median(independent))
        self.assertGreater(high, peer_stats.median(independent))
        self.assertGreater(peer_stats.block_length(correlated), peer_stats.block_length(independent))

    def test_stopping(self):
        rule = peer_stats.StoppingRule(0.5, 3.0, 0.005)
        stops = [rule.add(1e-3, i * 1e-2) for i in range(51)]
        self.assertEqual(stops[:50], [""] * 50)
        self.assertEqual(stops[50], "noise")
        generator = random.Random(1)
        noisy = peer_stats.StoppingRule(0.5, 3.0, 0.0005)
        elapsed, stop = 0.0, ""
        while not stop:
            elapsed += 0.02
            stop = noisy.add(generator.uniform(1e-3, 2e-3), elapsed)
        self.assertEqual(stop, "max_time")
        bad = peer_stats.StoppingRule(0.5, 3.0, 0.005)
        self.assertEqual([bad.add(0.0, 0.1) for _ in range(100)], [""] * 99 + ["bad_timer"])


class Cases(unittest.TestCase):
    def test_ids(self):
        self.assertEqual(Case("ops/gemm").id, "ops/gemm")
        self.assertEqual(Case("ops/gemm", m=8192, n=8192, k=8192, dtype="fp8", fast_accum=0).id,
                         "ops/gemm?dtype=fp8&fast_accum=0&k=8192&m=8192&n=8192")
        self.assertEqual(Case("ops/attention", **{"pass": "backward"}).with_params(impl="pytorch").id,
                         "ops/attention?impl=pytorch&pass=backward")
        with self.assertRaises(ValueError):
            Case("ops/gemm", size=3)

    def test_default_list_and_filter(self):
        ids = [case.id for case in peer_cases.default_cases()]
        self.assertEqual((len(ids), len(set(ids))), (48, 48))
        self.assertEqual(len(peer_cases.default_cases("ops/attention*backward*")), 7)
        self.assertEqual(len(peer_cases.default_cases("8192")), 11)
        self.assertEqual([case.id for case in peer_cases.default_cases("*kv_heads*")], [
            "ops/attention?batch=2&causal=1&heads=32&kv_heads=8",
            "ops/attention?batch=2&causal=1&heads=32&kv_heads=8&pass=backward",
            "ops/attention?batch=64&heads=32&kv_heads=8&seq=1&seq_kv=8192",
            "ops/attention?batch=2&heads=32&kv_heads=8&seq=1024&seq_kv=8192"])
        self.assertEqual([case.id for case in peer_cases.default_cases("ops/gemm?dtype=tf32")],
                         ["ops/gemm?dtype=tf32"])
        self.assertEqual([case.id for case in peer_cases.gemm_cases()][-8:], [
            "ops/gemm?dtype=fp64", "ops/gemm?dtype=int8&k=8192&m=8192&n=8192",
            "ops/gemm?dtype=fp8_e5m2&k=8192&m=8192&n=8192", "ops/gemm?layout=nn", "ops/gemm?layout=nt",
            "ops/gemm?layout=tt", "ops/gemm?batch=64&k=1024&m=1024&n=1024",
            "ops/gemm?batch=64&dtype=tf32&k=1024&m=1024&n=1024"])
        self.assertEqual(peer_cases.default_cases("nothing"), [])
        convolutions = [case.id for case in peer_cases.default_cases("ops/conv*")]
        self.assertEqual(len(convolutions), 14)
        self.assertEqual(convolutions[:2], ["ops/conv", "ops/conv?dtype=tf32"])
        self.assertEqual(convolutions[-1], "ops/conv?c=3&dtype=tf32&h=224&pad=3&r=7&s=7&stride=2&w=224")

    def test_work(self):
        self.assertEqual(peer_cases.gemm_work(2, 3, 5, "fp8"), {"flops": 60.0, "bytes": 10 + 15 + 12.0})
        for dtype, in_bytes, out_bytes in (("fp64", 8, 8), ("int8", 1, 4), ("fp8_e5m2", 1, 2), ("tf32", 4, 4)):
            found, rule = peer_cases.work_of(Case("ops/gemm", m=2, n=3, k=5, batch=7, dtype=dtype))
            self.assertEqual(found["flops"], 7 * 60.0)
            self.assertEqual(found["bytes"], 7.0 * (in_bytes * (10 + 15) + out_bytes * 6))
            self.assertEqual(rule, "gemm:2mnk*batch")
        self.assertEqual(peer_cases.work_of(Case("ops/gemm"))[1], "gemm:2mnk")

    def test_attention_work(self):
        # Brute force over the kept positions.
        for seq, seq_kv, causal in ((7, 0, 1), (7, 0, 0), (3, 11, 0)):
            keys = seq_kv or seq
            kept = sum(not causal or key <= query for query in range(seq) for key in range(keys))
            given = dict(batch=2, heads=6, kv_heads=2, seq=seq, seq_kv=seq_kv, head_dim=8, causal=causal)
            forward, rule = peer_cases.work_of(Case("ops/attention", **given))
            self.assertEqual(forward["flops"], 4.0 * 2 * 6 * kept * 8)
            self.assertEqual(forward["bytes"], 2.0 * 2 * 2 * 8 * (6 * seq + 2 * keys) + 4 * 2 * 6 * seq)
            self.assertEqual(rule, "attention:causal" if causal else
                             "attention:4bhstd" if seq_kv else "attention:4bhssd")
            backward, rule = peer_cases.work_of(Case("ops/attention", **given, **{"pass": "backward"}))
            self.assertEqual(backward["flops"], 2.5 * forward["flops"])
            self.assertTrue(rule.endswith("*2.5"))
        for given in (dict(causal=1, window=8), dict(causal=1, seq_kv=8192)):
            with self.assertRaises(ValueError):
                peer_cases.work_of(Case("ops/attention", **given))

    def test_conv_work(self):
        sizes = {"n": 2, "h": 7, "w": 6, "c": 4, "k": 6, "r": 3, "s": 2, "stride": 2, "pad": 1, "dilation": 2,
                 "groups": 2}
        # Places of the filter within the padded image, which reach over 5 rows and 3 columns.
        p, q = len(range(-1, 7 + 1 - 5 + 1, 2)), len(range(-1, 6 + 1 - 3 + 1, 2))
        found = peer_cases.conv_work(**sizes)
        self.assertEqual(found["flops"], 2.0 * 2 * p * q * 6 * (4 // 2) * 3 * 2)
        self.assertEqual(found["bytes"], 2.0 * (2 * 7 * 6 * 4 + 6 * 3 * 2 * 2 + 2 * p * q * 6))
        case = Case("ops/conv", h=14, w=14, c=256, k=256, dtype="tf32")
        work, rule = peer_cases.work_of(case)
        self.assertEqual(rule, "conv:2npqkcrs/groups")
        self.assertEqual(work["flops"], 2.0 * 256 * 14 * 14 * 256 * 256 * 9)
        self.assertEqual(work["bytes"], 4.0 * (2 * 256 * 14 * 14 * 256 + 256 * 256 * 9))

    def test_graph_holds_whole_rotations(self):
        for iterations, sets in ((1, 2), (7, 5), (100000, 1024), (3, 20000)):
            nodes = peer_sampler.graph_nodes(iterations, sets)
            self.assertEqual(nodes % sets, 0)
            self.assertLessEqual(nodes, max(peer_sampler.MOST_GRAPH_NODES, sets))


class Reports(unittest.TestCase):
    def test_report_is_valid(self):
        report = report_of("pytorch", [(Case("ops/gemm"), 1e-3), (Case("ops/attention"), None)])
        reading = {"t_s": 0.0, "sm_clock_mhz": 1500, "memory_clock_mhz": None, "power_w": 690.0,
                   "temperature_c": 60, "event_reasons": 0x4}
        report["results"][0]["telemetry"] = peer_telemetry.summarize([reading])
        schema = validate_report.load(validate_report.SCHEMA)
        self.assertEqual(validate_report.problems(json.loads(json.dumps(report, allow_nan=False)), schema),
                         [])
        self.assertAlmostEqual(report["results"][0]["rate"]["tflops"], 2 * 4096**3 / 1e-3 / 1e12)

    def test_schema_refuses_a_broken_report(self):
        report = report_of("pytorch", [(Case("ops/gemm"), 1e-3)])
        schema = validate_report.load(validate_report.SCHEMA)
        for break_it in (lambda r: r.pop("results"),
                         lambda r: r["results"][0].update(status="fine"),
                         lambda r: r["results"][0]["time_s"].update(median="1 ms")):
            broken = json.loads(json.dumps(report))
            break_it(broken)
            self.assertNotEqual(validate_report.problems(broken, schema), [])

    def test_libraries_from_the_memory_map(self):
        maps = ("7f00-7f01 r-xp 00000000 08:01 1 /a b/nvidia/cu13/lib/libcublasLt.so.13\n"
                "7f02-7f03 r-xp 00000000 08:01 2 /x/libcudnn_graph.so.9\n"
                "7f04-7f05 r-xp 00000000 08:01 3 /x/libcudnn.so.9\n7f06-7f07 rw-p 00000000 00:00 0\n")
        self.assertEqual(peer_report.loaded_libraries(maps), {
            "cublaslt": "/a b/nvidia/cu13/lib/libcublasLt.so.13", "cudnn": "/x/libcudnn.so.9"})

    def test_environment_by_allow_list(self):
        self.assertEqual(peer_report.recorded_environment({"CUDA_VISIBLE_DEVICES": "0", "SECRET": "x"}),
                         {"CUDA_VISIBLE_DEVICES": "0"})

    def test_telemetry_without_support_is_null(self):
        self.assertIsNone(peer_telemetry.summarize([]))
        reading = dict.fromkeys(peer_telemetry.SERIES_KEYS)
        found = peer_telemetry.summarize([{**reading, "t_s": 0.0}])
        self.assertIsNone(found["power_w"])
        self.assertIsNone(found["throttle"])


class Alternation(unittest.TestCase):
    def test_median_of_the_rounds_ratios(self):
        case, missing = Case("ops/gemm", dtype="fp16"), Case("ops/attention")
        tuned = case.with_params(tune=1)
        rounds = [(report_of("cublaslt", [(tuned, ours), (missing, None)]),
                   report_of("pytorch", [(case, theirs), (missing, 1e-3)]))
                  for ours, theirs in ((1.00e-3, 1.00e-3), (1.00e-3, 1.10e-3), (2.00e-3, 2.10e-3))]
        first, second = alternate.summarize([case, missing], rounds)
        for found, expected in zip(first["ratios"], (1.0, 1.1, 1.05)):
            self.assertAlmostEqual(found, expected)
        self.assertAlmostEqual(first["ratio"], 1.05)
        self.assertEqual((second["ratio"], second["rounds"]), (None, 0))
        self.assertIn("not measured by both", alternate.table([first, second]))

    def test_different_libraries_are_noticed(self):
        case = [(Case("ops/gemm"), 1e-3)]
        same = alternate.library_versions([(report_of("cublaslt", case), report_of("pytorch", case))])
        self.assertTrue(same["same"])
        other = report_of("pytorch", case, library_path="/elsewhere/libcublasLt.so.13")
        self.assertFalse(alternate.library_versions([(report_of("cublaslt", case), other)])["same"])


if __name__ == "__main__":
    unittest.main()
