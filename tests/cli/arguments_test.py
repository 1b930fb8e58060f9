# SPDX-License-Identifier: Apache-2.0
"""What is typed: verbs, names, values, suite files. Every mistake is exit code 2 and says what to do."""
import json
import pathlib
import subprocess
import unittest

import harness  # first: it makes scripts/ importable
import alternate
import peer_cases
from harness import FINE, NO_DEVICE, QUICK, ROOT, SMALL_GEMM, USAGE


class Verbs(harness.CliTest):
    def test_most_time_below_least_time(self):
        self.expect(USAGE, "run", *SMALL_GEMM, "--device", "cpu", "--min-time", "2", "--max-time", "1",
                    stderr=("--max-time",))

    def test_help_and_version(self):
        self.expect(FINE, "--help", stdout=("run", "devices", "doctor", "compare"))
        self.expect(FINE, "run", "--help", stdout=("--suite", "--device", "--max-noise"))
        self.expect(FINE, "--version", stdout=("gpubench",))

    def test_no_verb_and_unknown_verb(self):
        for done in (self.expect(USAGE, stderr=("no verb", "compare")),
                     self.expect(USAGE, "rum", stderr=("no verb 'rum'; did you mean 'run'?",))):
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.expect(USAGE, "run", "--no-such-option", "1")
        self.expect(USAGE, "run", "--sute", "bert", stderr=("--sute", "Did you mean '--suite'?"))

    def test_dry_run_takes_no_resume_and_reads_the_catalogue(self):
        self.expect(USAGE, "run", *SMALL_GEMM, "--dry-run", "--device", "cpu", "--resume", "x.json",
                    stderr=("--resume",))
        self.expect(USAGE, "run", *SMALL_GEMM, "--dry-run", "--device", "cpu", "--catalogue", "none.json",
                    stderr=("none.json",))

    def test_dry_run_refuses_what_a_run_does(self):
        for more in ((), ("--dry-run",)):
            self.expect(USAGE, "run", *SMALL_GEMM, "at_once=1", "--device", "cpu", *more,
                        stderr=("needs several devices",))

    def test_list_holds_every_workload_file_and_suite(self):
        lines = self.expect(FINE, "list").stdout.splitlines()
        listed = {line.split()[0] for line in lines if line.startswith("  ")}
        files = {path.relative_to(ROOT / "workloads").with_suffix("").as_posix()
                 for path in (ROOT / "workloads").rglob("*.cpp")}
        suites = {path.stem for path in (ROOT / "configs/suites").glob("*.json")}
        self.assertTrue(files and suites)
        self.assertEqual(listed, files | suites)

    def test_show(self):
        self.expect(FINE, "show", "ops/gemm", stdout=("dtype", "bf16", "epilogue"))
        self.expect(FINE, "show", "bert", stdout=("ops/gemm?",))
        self.expect(USAGE, "show", "ops/gem", stderr=("ops/gemm",))

    def test_specs(self):
        self.expect(FINE, "specs", stdout=("h200", "a100"))
        specs = json.loads(self.expect(FINE, "specs", "--json").stdout)
        self.assertTrue(specs)
        self.expect(USAGE, "specs", "--json", "--check", stderr=("--check",))
        self.expect(USAGE, "specs", "h2oo", stderr=("h2oo",))
        self.expect(USAGE, "specs", "h200", stderr=("'h200-",))

    def test_machine_without_a_gpu(self):
        hidden = {"CUDA_VISIBLE_DEVICES": "-1"}
        self.expect(NO_DEVICE, "devices", stderr=("--device cpu",), **hidden)
        shown = self.expect(NO_DEVICE, "devices", "--json", **hidden)
        self.assertEqual(json.loads(shown.stdout)["devices"], [])
        self.expect(NO_DEVICE, "run", *SMALL_GEMM, stderr=("--device cpu",), **hidden)
        self.expect(NO_DEVICE, "doctor", stdout=("cblas", "--device cpu"), **hidden)
        self.assertEqual(list(self.folder.iterdir()), [], "a run that can't start leaves no file")


class Names(harness.CliTest):
    def test_nothing_to_run(self):
        self.expect(USAGE, "run", "--device", "cpu", stderr=("--suite",))

    def test_misspelt_names_get_the_nearest(self):
        for words, nearest in (
                (("--suite", "brt"), "bert"),
                (("ops/gem",), "ops/gemm"),
                (("ops/gemm", "dtpye=bf16"), "dtype"),
                (("ops/gemm", "cahce=hot"), "'cache'"),
                (("ops/gemm", "dtype=bf61"), "bf16"),
                (("ops/gemm", "epilogue=bais"), "bias"),
                ((*SMALL_GEMM, "--data", "normul"), "normal"),
                ((*SMALL_GEMM, "--cache", "hott"), "hot"),
                (("ops/gemm", "impl=cublast"), "cublaslt")):
            with self.subTest(words=words):
                done = self.run_cli("run", *words, *QUICK)
                self.assertEqual(done.returncode, USAGE, done.stderr)
                self.assertIn(nearest, done.stderr)

    def test_values_out_of_range(self):
        for word in ("m=0", "m=-1", "m=-9223372036854775809", "m=99999999999999999999", "m=1e3",
                     "m=4096x", "m=", "=4096", "m=nan"):
            with self.subTest(word=word):
                self.expect(USAGE, "run", "ops/gemm", word, *QUICK)

    def test_size_that_overflows(self):
        # Each is allowed alone; their product does not fit 64 bits.
        self.expect(USAGE, "run", "ops/gemm", "m=1T", "n=1T", "k=1T", *QUICK)

    def test_bytes_that_are_no_whole_elements(self):
        self.expect(USAGE, "run", "micro/memory", "bytes=5", *QUICK, stderr=("bytes=5",))
        self.expect(USAGE, "run", "micro/l2", "bytes=1", *QUICK, stderr=("bytes",))

    def test_empty_texts(self):
        for option in ("--suite", "--filter", "--out", "--device"):
            with self.subTest(option=option):
                self.expect(USAGE, "run", *SMALL_GEMM, option, "", stderr=(option,))

    def test_device_that_none_can_be_is_told_without_a_gpu(self):
        for device in ("gpu0", "0,cpu", "-1"):
            for more in ((), ("--dry-run",)):
                with self.subTest(device=device, more=more):
                    self.expect(USAGE, "run", *SMALL_GEMM, f"--device={device}", *more,
                                stderr=("--device",), CUDA_VISIBLE_DEVICES="-1")

    def test_parameter_before_a_workload_or_given_twice(self):
        self.expect(USAGE, "run", "m=4", "ops/gemm", *QUICK, stderr=("m=4",))
        self.expect(USAGE, "run", "ops/gemm", "m=4", "m=5", *QUICK)

    def test_policy_out_of_range(self):
        for option, value in (("--min-time", "-1"), ("--min-time", "nan"), ("--max-noise", "0"),
                              ("--max-noise", "inf"), ("--warmup", "x"), ("--memory-reserve", "100"),
                              ("--time-limit", "0"), ("--seed", "-1")):
            with self.subTest(option=option, value=value):
                self.expect(USAGE, "run", *SMALL_GEMM, "--device", "cpu", option, value)

    def test_filter(self):
        ids = self.dry_run_ids("--suite", "smoke", "--device", " CPU ")
        kept = self.dry_run_ids("--suite", "smoke", "--device", "cpu", "--filter", "ops/attention*")
        self.assertEqual(kept, [i for i in ids if i.startswith("ops/attention")])
        self.assertTrue(kept)
        self.expect(USAGE, "run", "--suite", "smoke", *QUICK, "--filter", "no-such-case",
                    stderr=("no-such-case",))


class Outputs(harness.CliTest):
    SUITE = {"name": "mine", "summary": "one case", "cases": [{"workload": "ops/gemm", "params": {"m": 32, "n": 32, "k": 32}}]}

    def test_inputs_are_not_overwritten(self):
        self.write("mine.json", json.dumps(self.SUITE))
        self.expect(USAGE, "run", "--suite", "./mine.json", "--out", "mine.json", *QUICK,
                    stderr=("--suite", "mine.json"))
        self.assertEqual(json.loads((self.folder / "mine.json").read_text()), self.SUITE)

    def test_suite_without_a_case_for_the_device(self):
        suite = {**self.SUITE, "cases": [{**self.SUITE["cases"][0], "cpu": None}]}
        self.write("mine.json", json.dumps(suite))
        self.expect(USAGE, "run", "--suite", "./mine.json", *QUICK, stderr=("'mine' has no cases",))

    def test_link_to_nothing(self):
        (self.folder / "report.json").symlink_to(self.folder / "nowhere/file.json")
        self.expect(USAGE, "run", *SMALL_GEMM, "--out", "report.json", *QUICK, stderr=("link",))

    def test_profile_ends_complete(self):
        done = self.expect(FINE, "run", *SMALL_GEMM, "--profile", "--out", "report.json", *QUICK)
        self.assertNotIn("did not end", done.stdout)
        self.assertTrue(json.loads((self.folder / "report.json").read_text())["complete"])


class SuiteFiles(harness.CliTest):
    def expect_error(self, text, *fragments):
        path = self.write("mine.json", text)
        self.expect(USAGE, "run", "--suite", f"./{path.name}", *QUICK, stderr=fragments)

    def test_malformed_and_truncated(self):
        self.expect_error('{"name": "x",\n "cases": [\n  {"workload" "ops/gemm"}]}', "mine.json:3")
        self.expect_error('{"name": "x",\n "summary": "y",\n "cases": [{"workload"', "mine.json:3")
        self.expect_error("", "mine.json")
        self.expect_error("[]", "mine.json")

    def test_unknown_members_and_names(self):
        case = '{"workload": "ops/gemm", "params": {"m": 32}}'
        self.expect_error(f'{{"name": "x", "summary": "y", "polcy": {{}}, "cases": [{case}]}}', "policy")
        bad = case.replace('"m"', '"mm"')
        self.expect_error(f'{{"name": "x", "summary": "y", "cases": [{bad}]}}', "mm")
        bad = case.replace("ops/gemm", "ops/gmm")
        self.expect_error(f'{{"name": "x", "summary": "y", "cases": [{bad}]}}', "ops/gemm")
        self.expect_error('{"name": "x", "summary": "y", "cases": []}', "mine.json")

    def test_value_errors_name_the_entry(self):
        good = '{"workload": "ops/gemm", "params": {"m": 32}}'
        for bad in (good.replace("32", "0"), good.replace("ops/gemm", "ops/gmm"),
                    good.replace("}}", '}, "conditions": {"cache": "warm"}}')):
            with self.subTest(bad=bad):
                self.expect_error(f'{{"name": "x", "summary": "y", "cases": [{good}, {bad}]}}',
                                  "mine.json", "cases[1]")

    def test_policy_out_of_range(self):
        case = '{"workload": "ops/gemm"}'
        for policy in ('"max_noise": 0', '"max_noise": 1.5', '"min_samples": 0', '"warmup_s": 1e9'):
            with self.subTest(policy=policy):
                self.expect_error(f'{{"name": "x", "summary": "y", "policy": {{{policy}}}, '
                                  f'"cases": [{case}]}}', "policy", policy.split('"')[1])

    def test_file_without_an_end(self):
        self.expect(USAGE, "compare", "/dev/zero", "/dev/zero", stderr=("/dev/zero",))

    def test_missing_file_and_folder(self):
        self.expect(USAGE, "run", "--suite", "./none.json", *QUICK, stderr=("none.json",))
        self.expect(USAGE, "run", "--suite", "./", *QUICK)

    def test_arrays_multiply_out(self):
        path = self.write("mine.json", json.dumps({
            "name": "mine", "summary": "two by two",
            "cases": [{"workload": "ops/gemm", "params": {"dtype": ["fp32", "bf16"], "m": [32, 64],
                                                          "n": 32, "k": 32}}]}))
        ids = self.dry_run_ids("--suite", path, "--device", "cpu")
        self.assertEqual(len(set(ids)), 4, ids)

    def test_every_shipped_suite_expands(self):
        for path in sorted(pathlib.Path(ROOT / "configs/suites").glob("*.json")):
            with self.subTest(suite=path.stem):
                cpu = self.dry_run_ids("--suite", path.stem, "--device", "cpu")
                gpu = self.dry_run_ids("--suite", path.stem)
                self.assertTrue(cpu and gpu)
                self.assertEqual((len(set(cpu)), len(set(gpu))), (len(cpu), len(gpu)))
                self.assertEqual(gpu, self.dry_run_ids("--suite", path), "embedded is not the file")
        self.assertLessEqual(len(self.dry_run_ids("--suite", "bert")), 30)

    def test_peers_use_our_ids(self):
        cases = peer_cases.default_cases()
        path = self.write("peers.json", json.dumps(alternate.suite_of(cases, tune=False)))
        self.assertEqual(self.dry_run_ids("--suite", path), [case.id for case in cases])


class Binary(harness.CliTest):
    @unittest.skipIf(harness.SANITIZED, "sanitizers bring libraries of their own")
    def test_needs_only_libc(self):
        dynamic = subprocess.run(["readelf", "-d", harness.GPUBENCH], check=True, text=True,
                                 stdout=subprocess.PIPE).stdout
        needed = {line.split("[")[1].rstrip("]") for line in dynamic.splitlines() if "(NEEDED)" in line}
        self.assertTrue(needed)
        allowed = ("libc.so", "libm.so", "libdl.so", "libpthread.so", "librt.so", "ld-linux")
        self.assertEqual([name for name in needed if not name.startswith(allowed)], [])


if __name__ == "__main__":
    harness.main()
