#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs gpubench and pytorch_ops.py in turn over the same cases with the same libraries, and compares.

  alternate.py --gpubench build/release/gpubench --out-dir peers-h200

Run it with the python that has PyTorch: gpubench is pointed (GPUBENCH_LIB_PATH) to the cuBLAS and cuDNN that
PyTorch brings. Each round runs both programs; who goes first changes, so that drift of clocks and temperature
cancels. A case's figure is the median over rounds of time(pytorch) / time(gpubench): above 1, gpubench is
faster. Both reports of each round and summary.json stay in the folder.
Exit codes: 0 fine, 1 a case is missing on one side, 2 usage, 3 no GPU, 5 a ratio below --at-least.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import statistics
import subprocess
import sys

import peer_cases

HERE = pathlib.Path(__file__).resolve().parent
NO_DEVICE = 3
LIBRARIES = ("cublaslt", "cudnn")


def library_folders():
    """The lib folders of the nvidia packages that PyTorch was installed with."""
    spec = importlib.util.find_spec("nvidia")
    if spec is None or not spec.submodule_search_locations:
        return []
    folders = []
    for location in spec.submodule_search_locations:
        folders += [str(path) for path in sorted(pathlib.Path(location).glob("*/lib"))
                    if any(path.glob("*.so*"))]
    return folders


def suite_of(cases, tune):
    """A gpubench suite of the same cases."""
    entries = []
    for case in cases:
        if tune and "tune" in case.params:
            case = case.with_params(tune=1)
        entries.append({"workload": case.workload, "params": case.given()})
    return {"name": "peers", "summary": "The cases of scripts/peers/pytorch_ops.py", "cases": entries}


def ok_results(report):
    """pairing key -> result, of what was measured."""
    return {peer_cases.pairing_key(result["workload"], result["params"]): result
            for result in report["results"] if result["status"] == "ok"}


def summarize(cases, rounds):
    """`rounds`: (gpubench report, pytorch report) each. A list with one object per case."""
    sides = [(ok_results(ours), ok_results(theirs)) for ours, theirs in rounds]
    summary = []
    for case in cases:
        key = peer_cases.pairing_key(case.workload, case.params)
        pairs = [(ours[key], theirs[key]) for ours, theirs in sides if key in ours and key in theirs]
        times = [(a["time_s"]["median"], b["time_s"]["median"]) for a, b in pairs]
        ratios = [theirs / ours for ours, theirs in times]
        flops = peer_cases.work_of(case)[0]["flops"]
        entry = {"id": case.id, "rounds": len(pairs), "ratios": ratios, "ratio": None}
        if pairs:
            ours, theirs = (statistics.median(side) for side in zip(*times))
            entry.update({
                "ratio": statistics.median(ratios), "gpubench_time_s": ours, "pytorch_time_s": theirs,
                "gpubench_tflops": flops / ours / 1e12, "pytorch_tflops": flops / theirs / 1e12,
                "gpubench_impl": pairs[-1][0]["impl"], "gpubench_algorithm": pairs[-1][0]["algorithm"],
                "launch_bound": any((side["sampling"] or {}).get("launch_bound")
                                    for pair in pairs for side in pair),
                "unconverged": any(side["time_s"]["stop"] != "noise" for pair in pairs for side in pair),
            })
        summary.append(entry)
    return summary


def library_versions(rounds):
    """Versions and paths per side, and whether both sides loaded the same."""
    ours, theirs = rounds[-1]
    versions = {side: {name: report["libraries"].get(name) for name in LIBRARIES}
                for side, report in (("gpubench", ours), ("pytorch", theirs))}

    def path(side, name):
        return os.path.realpath((versions[side][name] or {}).get("path") or f"/{side}")

    loaded = [name for name in LIBRARIES if (versions["gpubench"][name] or {}).get("path")]
    versions["same"] = bool(loaded) and all(
        path("gpubench", name) == path("pytorch", name) for name in loaded)
    return versions


def table(summary):
    lines = [f"{'case':<58} {'gpubench':>10} {'pytorch':>10} {'ratio':>7}  rounds"]
    for entry in summary:
        if entry["ratio"] is None:
            lines.append(f"{entry['id']:<58} not measured by both")
            continue
        marks = " launch-bound" if entry["launch_bound"] else ""
        marks += " unconverged" if entry["unconverged"] else ""
        lines.append(f"{entry['id']:<58} {entry['gpubench_tflops']:>10.1f} "
                     f"{entry['pytorch_tflops']:>10.1f} {entry['ratio']:>7.4f}  "
                     + " ".join(f"{ratio:.4f}" for ratio in entry["ratios"]) + marks)
    lines.append("TFLOP/s; ratio = time of pytorch / time of gpubench, median of the rounds: "
                 "above 1, gpubench is faster")
    return "\n".join(lines)


def run(command, environment):
    """Runs a program, its output passed through; returns its exit code."""
    print("+ " + " ".join(map(str, command)), file=sys.stderr, flush=True)
    return subprocess.run(list(map(str, command)), env=environment, stdin=subprocess.DEVNULL,
                          check=False).returncode


def run_rounds(options, cases):
    """The reports of all rounds; stops at once where a program finds no GPU or can't start."""
    folder = pathlib.Path(options.out_dir)
    folder.mkdir(parents=True, exist_ok=True)
    suite = folder / "suite.json"
    suite.write_text(json.dumps(suite_of(cases, options.tune), indent=1) + "\n", encoding="utf-8")
    policy = ["--warmup", options.warmup, "--min-time", options.min_time, "--max-time",
              options.max_time, "--max-noise", options.max_noise, "--seed", options.seed]
    environment = dict(os.environ)
    if options.lib_path:
        environment["GPUBENCH_LIB_PATH"] = options.lib_path
        print(f"GPUBENCH_LIB_PATH={options.lib_path}", file=sys.stderr)

    reports = []
    for index in range(options.rounds):
        paths = {side: folder / f"{side}-{index + 1}.json" for side in ("gpubench", "pytorch")}
        commands = {
            "gpubench": [options.gpubench, "run", "--suite", suite.resolve(), "--out",
                         paths["gpubench"], *policy],
            "pytorch": [sys.executable, HERE / "pytorch_ops.py", "--cases", options.cases, "--out",
                        paths["pytorch"], *policy],
        }
        for side in sorted(commands, reverse=index % 2 == 1):
            paths[side].unlink(missing_ok=True)  # no earlier run's report is taken for this one's
            code = run(commands[side], environment)
            if code == NO_DEVICE or not paths[side].exists():
                print(f"alternate: {side} ended with exit code {code} and no report", file=sys.stderr)
                return None, NO_DEVICE if code == NO_DEVICE else 1
        reports.append(tuple(json.loads(paths[side].read_text(encoding="utf-8"))
                             for side in ("gpubench", "pytorch")))
    return reports, 0


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpubench", default="build/release/gpubench", metavar="FILE")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cases", default="*", metavar="GLOB", help="as in pytorch_ops.py")
    parser.add_argument("--tune", action="store_true", help="let gpubench time its GEMM candidates")
    parser.add_argument("--warmup", type=float, default=0.5, metavar="S")
    parser.add_argument("--min-time", type=float, default=1.0, metavar="S")
    parser.add_argument("--max-time", type=float, default=3.0, metavar="S")
    parser.add_argument("--max-noise", type=float, default=0.5, metavar="PCT")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out-dir", default="build/reports/alternate", metavar="DIR")
    parser.add_argument("--lib-path", default=":".join(library_folders()), metavar="LIST",
                        help="GPUBENCH_LIB_PATH (default: the folders of PyTorch's nvidia packages)")
    parser.add_argument("--at-least", type=float, metavar="RATIO", help="exit code 5 below this ratio")
    options = parser.parse_args(arguments)
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    if not os.access(options.gpubench, os.X_OK):
        parser.error(f"{options.gpubench} is no executable; build it or name it with --gpubench")
    if not peer_cases.default_cases(options.cases):
        parser.error(f"no case matches '{options.cases}'; pytorch_ops.py --list shows them")
    return options


def main(arguments):
    options = parse_arguments(arguments)
    cases = peer_cases.default_cases(options.cases)
    reports, code = run_rounds(options, cases)
    if reports is None:
        return code
    summary = summarize(cases, reports)
    libraries = library_versions(reports)
    path = pathlib.Path(options.out_dir) / "summary.json"
    path.write_text(json.dumps({"command": sys.argv, "rounds": options.rounds,
                                "libraries": libraries, "cases": summary}, indent=1) + "\n",
                    encoding="utf-8")
    print(table(summary))
    for side in ("gpubench", "pytorch"):
        print(f"{side}: " + ", ".join(f"{name} {(library or {}).get('version')}"
                                      for name, library in libraries[side].items()))
    if not libraries["same"]:
        print("alternate: the two programs did not load the same libraries, so this compares those too",
              file=sys.stderr)
    print(f"summary: {path}")
    if any(entry["ratio"] is None for entry in summary):
        return 1
    if options.at_least and any(entry["ratio"] < options.at_least for entry in summary):
        return 5
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
