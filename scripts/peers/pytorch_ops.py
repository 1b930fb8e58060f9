#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures PyTorch's GEMM, attention and convolution by gpubench's own protocol and writes a gpubench report.

  pytorch_ops.py --out pytorch.json            the default cases on GPU 0
  pytorch_ops.py --cases 'ops/gemm*8192*' --list
  gpubench compare gpubench.json pytorch.json --match impl

GEMM is a @ b into a given output (torch.mm, torch.bmm for a batch, torch._scaled_mm for FP8, torch._int_mm for
INT8), on transposed views as the layout says; attention is
scaled_dot_product_attention with its cuDNN backend on (batch, seq, heads, head_dim) tensors, full or square
causal, with enable_gqa where heads share keys; what that backend refuses is skipped. The forward
pass runs on inputs that require gradients, so it writes the log-sum-exp like a training step; the backward
pass is torch.autograd.grad alone. A convolution is conv2d on channels_last tensors with cudnn.benchmark,
forward only. scripts/peers/alternate.py runs this and gpubench in turn.
Exit codes: 0 fine, 1 a case failed, 2 usage, 3 no GPU or no PyTorch, 4 a wrong result, 130 interrupted.
"""
import argparse
import contextlib
import ctypes
import math
import sys
import time

import peer_cases
import peer_report
import peer_sampler
import peer_telemetry
import pytorch_jobs


def library_objects(torch, driver):
    with open("/proc/self/maps", encoding="utf-8") as file:
        paths = peer_report.loaded_libraries(file.read())
    versions = {"driver": driver, "cudart": torch.version.cuda}

    def dotted(number):
        return f"{number // 10000}.{number // 100 % 100}.{number % 100}"

    if torch.backends.cudnn.version():
        versions["cudnn"] = dotted(torch.backends.cudnn.version())
    if "cublaslt" in paths:
        get_version = ctypes.CDLL(paths["cublaslt"]).cublasLtGetVersion
        get_version.restype = ctypes.c_size_t
        versions["cublaslt"] = dotted(get_version())
    return peer_report.libraries_object(paths, versions)


def pci_id_of(properties):
    parts = [getattr(properties, name, None)
             for name in ("pci_domain_id", "pci_bus_id", "pci_device_id")]
    if None in parts:
        return None
    return "{:04x}:{:02x}:{:02x}.0".format(*parts)


def device_of(properties):
    uuid = getattr(properties, "uuid", None)
    return peer_report.device_object(
        name=properties.name, uuid=f"GPU-{uuid}" if uuid else None, pci_id=pci_id_of(properties),
        arch=f"sm_{properties.major}{properties.minor}", sm_count=properties.multi_processor_count,
        memory_bytes=properties.total_memory, l2_bytes=properties.L2_cache_size)


class Run:
    """The cases of one call, their results and the report."""

    def __init__(self, torch, options):
        self.torch, self.options = torch, options
        self.properties = torch.cuda.get_device_properties(0)
        self.device = device_of(self.properties)
        self.telemetry = peer_telemetry.Recorder.open(self.device["pci_id"] or "")
        self.driver = self.telemetry.driver_version() if self.telemetry else None
        self.policy = {"warmup_s": options.warmup, "min_time_s": options.min_time,
                       "max_time_s": options.max_time, "max_noise": options.max_noise / 100,
                       "min_samples": 30, "sample_s": peer_sampler.SAMPLE_S}
        self.cases = peer_cases.default_cases(options.cases)
        self.results = [peer_report.result_object(case, "pytorch", options.seed)
                        for case in self.cases]
        self.begin_s = time.monotonic()

    def save(self, complete):
        report = peer_report.report_object(
            f"pytorch {self.torch.__version__}", self.torch.version.cuda,
            library_objects(self.torch, self.driver), self.device, self.policy, self.results,
            time.monotonic() - self.begin_s, complete)
        peer_report.save_atomically(self.options.out, report)

    def check(self, job, result):
        error, tolerance, reference = job.verify()
        passed = error <= tolerance  # false for NaN
        result["check"] = {"passed": passed, "error": error if math.isfinite(error) else None,
                           "tolerance": tolerance, "reference": reference, "detail": None}
        if not passed:
            peer_report.end_with(result, "wrong", "E_WRONG_RESULT",
                                 f"error {error:.3g} above {tolerance:.3g} against {reference}")
        return passed

    def execute(self, case, result, stream):
        torch = self.torch
        make = pytorch_jobs.JOBS[case.workload]
        torch.cuda.reset_peak_memory_stats()
        job = make(torch, case, self.properties.L2_cache_size, self.options.seed)
        if not self.check(job, result):
            return
        measured = peer_sampler.measure(torch, stream, job, self.policy)
        if measured["time_s"] is None:
            peer_report.end_with(result, "failed", "E_BAD_TIMER", "the timer returned no usable time")
            return
        if not self.check(job, result):
            return
        peer_report.add_measurement(result, case, measured)
        result["memory"]["peak_bytes"] = torch.cuda.max_memory_allocated()
        if self.telemetry:
            result["telemetry"] = self.telemetry.window(measured["begin_s"], measured["end_s"])
        if measured["launch_bound"]:
            result["remarks"].append("the GPU waited for launches: the time is Python's, not the GPU's")

    def run_case(self, case, result, stream):
        torch = self.torch
        try:
            with contextlib.ExitStack() as stack:
                stack.enter_context(torch.cuda.stream(stream))
                if case.workload == "ops/attention":
                    backend = torch.nn.attention.SDPBackend.CUDNN_ATTENTION
                    stack.enter_context(torch.nn.attention.sdpa_kernel(backend))
                self.execute(case, result, stream)
        except torch.cuda.OutOfMemoryError as error:
            peer_report.end_with(result, "skipped", "E_OOM", str(error).splitlines()[0])
        except RuntimeError as error:
            if pytorch_jobs.NO_KERNEL in str(error):  # what PyTorch's gate to cuDNN does not let through
                peer_report.end_with(result, "skipped", "E_UNSUPPORTED_SHAPE", str(error).splitlines()[0])
            else:
                peer_report.end_with(result, "failed", "E_PEER", f"{type(error).__name__}: {error}")
        except Exception as error:  # a case must not end the run  # noqa: BLE001
            peer_report.end_with(result, "failed", "E_PEER", f"{type(error).__name__}: {error}")
        torch.cuda.empty_cache()

    def run(self):
        stream = self.torch.cuda.Stream()
        for index, (case, result) in enumerate(zip(self.cases, self.results), start=1):
            self.run_case(case, result, stream)
            outcome = result["status"]
            if outcome == "ok":
                time_s = result["time_s"]
                outcome = (f"{time_s['median'] * 1e6:.2f} us, {result['rate']['tflops']:.1f} TFLOP/s, "
                           f"{result['sampling']['kind']}, n={time_s['n']}, {time_s['stop']}")
            elif result["reason"]:
                outcome += f": {result['reason']['message']}"
            print(f"[{index}/{len(self.cases)}] {result['id']}: {outcome}", file=sys.stderr, flush=True)
            self.save(complete=False)


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default="*", metavar="GLOB", help="only ids that match (default: all)")
    parser.add_argument("--list", action="store_true", help="print the ids, run nothing")
    parser.add_argument("--out", default="pytorch.json", metavar="FILE")
    parser.add_argument("--warmup", type=float, default=3.0, metavar="S", help="most load before sampling")
    parser.add_argument("--min-time", type=float, default=0.5, metavar="S")
    parser.add_argument("--max-time", type=float, default=10.0, metavar="S")
    parser.add_argument("--max-noise", type=float, default=0.5, metavar="PCT")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    if not peer_cases.default_cases(options.cases):
        parser.error(f"no case matches '{options.cases}'; --list shows them")
    return options


def main(arguments):
    options = parse_arguments(arguments)
    if options.list:
        print("\n".join(case.id for case in peer_cases.default_cases(options.cases)))
        return 0
    try:
        import torch
        import torch.nn.attention  # noqa: F401
    except ImportError as error:
        print(f"pytorch_ops: {error}; install PyTorch with CUDA", file=sys.stderr)
        return 3
    if not torch.cuda.is_available():
        print("pytorch_ops: PyTorch finds no usable GPU", file=sys.stderr)
        return 3
    run = Run(torch, options)
    try:
        run.save(complete=False)  # an unwritable path is found before the work
    except OSError as error:
        print(f"pytorch_ops: --out: {error}", file=sys.stderr)
        return 2
    try:
        run.run()
    except KeyboardInterrupt:
        run.save(complete=False)
        return 130
    run.save(complete=True)
    print(f"report: {options.out}")
    statuses = {result["status"] for result in run.results}
    return 4 if "wrong" in statuses else 1 if "failed" in statuses else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
