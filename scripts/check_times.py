#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_times.py [--gpubench PROGRAM] [--part ncu|graph]: compares gpubench's times with other timers'.

ncu: cases from 80 us to 40 ms against the duration that Nsight Compute reads from the GPU (clocks left alone).
     Work whose clock falls under load is measured as bursts, since ncu runs a kernel once.
graph: products of a few microseconds against a CUDA graph of a thousand of them that PyTorch launches, by CUDA
     events; cuBLASLt picks the same kernel on both sides. In turn, five times each, medians.

Prints a line per case. Exit code 1: further apart than 2 % (ncu), 0.3 us (graph)."""
import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

MOST_RATIO = 0.02
MOST_SECONDS = 0.3e-6
GRAPH_LAUNCHES = 1000
TURNS = 5
# Reading kernels and such as compute: what a writing kernel leaves in the L2 is written while the next one runs, and
# ncu's single kernel has no next one, so that copies agree only where they are much larger than the cache.
NCU_CASES = ["micro/memory kernel=read bytes=1G", "micro/memory kernel=copy bytes=4G", "micro/memory kernel=triad bytes=16G",
             "ops/conv c=256 h=14 w=14 k=256 mode=burst", "ops/attention mode=burst", "ops/gemm dtype=fp64 mode=burst",
             "ops/gemm dtype=fp32 m=8K n=8K k=8K mode=burst", "ops/gemm dtype=fp32 m=10K n=10K k=10K mode=burst"]
GRAPH_CASES = [("bf16", 256), ("bf16", 512), ("bf16", 1024), ("fp16", 768), ("tf32", 512)]


def run(program, words, *options):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "report.json"
        subprocess.run([program, "run", *words, "--quiet", "--out", path, *options], check=True,
                       stdout=subprocess.DEVNULL)
        return json.loads(path.read_text(encoding="utf-8"))["results"][0]


def ncu_seconds(program, words):
    """Of all kernels of one iteration together."""
    with tempfile.TemporaryDirectory() as folder:
        shown = subprocess.run(
            ["ncu", "--profile-from-start", "off", "--clock-control", "none", "--print-units", "base",
             "--metrics", "gpu__time_duration.sum", program, "run", *words, "--profile", "--no-verify", "--quiet",
             "--out", pathlib.Path(folder) / "report.json"], check=True, capture_output=True, text=True).stdout
    durations = re.findall(r"gpu__time_duration\.sum\s+ns\s+([\d.,]+)", shown)
    if not durations:
        raise SystemExit(f"ncu read no durations:\n{shown}")
    return sum(float(text.replace(",", "")) for text in durations) * 1e-9


def check_ncu(program):
    agree = True
    for case in NCU_CASES:
        words = case.split()
        ours = run(program, words, "--warmup", "0.3", "--min-time", "0.5", "--max-time", "2")["time_s"]["median"]
        theirs = ncu_seconds(program, words)
        agree = agree and abs(ours / theirs - 1) <= MOST_RATIO
        print(f"{case:48} gpubench {ours * 1e6:10.2f} us  ncu {theirs * 1e6:10.2f} us  {100 * (ours / theirs - 1):+.2f} %",
              flush=True)
    return agree


class GraphOfProducts:
    def __init__(self, torch, dtype, size):
        storage = {"bf16": torch.bfloat16, "fp16": torch.float16, "tf32": torch.float32}[dtype]
        torch.backends.cuda.matmul.allow_tf32 = True
        a, b = (torch.randn(size, size, device="cuda").to(storage) for _ in range(2))
        out = torch.empty(size, size, device="cuda", dtype=storage)
        torch.mm(a, b.t(), out=out)
        torch.cuda.synchronize()
        self._torch, self._kept = torch, (a, b, out)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            for _ in range(GRAPH_LAUNCHES):
                torch.mm(a, b.t(), out=out)

    def seconds(self):
        """Per product: the median of replays under load."""
        event = self._torch.cuda.Event
        marks = [event(enable_timing=True) for _ in range(101)]
        for _ in range(50):
            self._graph.replay()
        for mark in marks:
            mark.record()
            self._graph.replay()
        self._torch.cuda.synchronize()
        return statistics.median(a.elapsed_time(b) for a, b in zip(marks, marks[1:])) * 1e-3 / GRAPH_LAUNCHES


def check_graph(program):
    import torch  # only this part needs it
    agree = True
    for dtype, size in GRAPH_CASES:
        graph = GraphOfProducts(torch, dtype, size)
        words = ["ops/gemm", f"dtype={dtype}", f"m={size}", f"n={size}", f"k={size}", "cache=hot"]
        ours, theirs = [], []
        for _ in range(TURNS):
            theirs.append(graph.seconds())
            ours.append(run(program, words, "--warmup", "0.3", "--min-time", "0.3")["time_s"]["median"])
        ours, theirs = statistics.median(ours), statistics.median(theirs)
        agree = agree and abs(ours - theirs) <= MOST_SECONDS
        print(f"{' '.join(words):48} gpubench {ours * 1e6:7.3f} us  graph {theirs * 1e6:7.3f} us  "
              f"{(ours - theirs) * 1e6:+.3f} us", flush=True)
    return agree


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpubench", default="build/release/gpubench")
    parser.add_argument("--part", choices=("ncu", "graph"))
    arguments = parser.parse_args()
    parts = {"ncu": check_ncu, "graph": check_graph}
    chosen = [parts[arguments.part]] if arguments.part else list(parts.values())
    return 0 if all([part(arguments.gpubench) for part in chosen]) else 1


if __name__ == "__main__":
    sys.exit(main())
