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

FP8_MAX = 448.0
FP8_SIGMA = 64.0  # of the operands, as in src/ops/gemm/problem.cpp: hardly anything saturates
INT8_SIGMA = 22.0
INT32_POISON = -2139062144  # below any sum of INT8 products
# Bounds on |out - ref| / (|ref| + rms(ref)) against double precision.
GEMM_TOLERANCE = {"fp8": 0.05, "fp8_e5m2": 0.05}
DEFAULT_GEMM_TOLERANCE = 0.02
ATTENTION_TOLERANCE = 0.05
CONV_TOLERANCE = 0.02
CHECKED_ROWS = 64
NO_KERNEL = "No available kernel"  # of torch.nn.attention.sdpa_kernel with one backend


def rotation_sets(l2_bytes, bytes_per_set):
    """At least two, and at least twice the L2 between two uses of a buffer."""
    return min(max(2, math.ceil(2 * l2_bytes / bytes_per_set) + 1), 1024)


def error_of(torch, out, reference, by_row=False):
    """Largest error; NaN where the output is not finite. By row: against each row's own rms, but no less than
    1 % of the whole's, as gpubench compares attention (early rows of a causal pass are far larger)."""
    rms = reference.square().mean().sqrt()
    if by_row:
        rms = torch.maximum(reference.square().mean(-1, keepdim=True).sqrt(), 0.01 * rms)
    scale = reference.abs() + rms
    return float(torch.max((out.double() - reference).abs() / scale))


class GemmJob:
    """y[m][n] = a[m][k] b[k][n], one or a batch, in rotating sets of operands with equal values."""

    def __init__(self, torch, case, l2_bytes, seed):
        p = case.params
        dtype, layout, batch = p["dtype"], p["layout"], p["batch"]
        fp8 = dtype in ("fp8", "fp8_e5m2")
        if p["epilogue"] != "none":
            raise ValueError("only products without an epilogue are measured here")
        if (fp8 or dtype == "int8") and (layout, batch) != ("tn", 1):
            raise ValueError("PyTorch multiplies FP8 and INT8 in layout tn only, one product at a time")
        self._torch, self._dtype, self._k, self._fp8 = torch, dtype, p["k"], fp8
        self._fast_accum = bool(p["fast_accum"])
        torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
        storage = {"fp64": torch.float64, "bf16": torch.bfloat16, "fp16": torch.float16, "tf32": torch.float32,
                   "fp32": torch.float32, "fp8": torch.float8_e4m3fn, "fp8_e5m2": torch.float8_e4m3fn,
                   "int8": torch.int8}[dtype]
        out_dtype = {"int8": torch.int32}.get(dtype, torch.bfloat16 if fp8 else storage)
        self._scale = torch.full((), 1 / FP8_SIGMA if fp8 else 1.0, device="cuda")
        generator = torch.Generator(device="cuda").manual_seed(seed)

        def operand(rows, columns, to=storage):
            """A row-major matrix, or a batch of them."""
            shape = (rows, columns) if batch == 1 else (batch, rows, columns)
            values = torch.randn(shape, device="cuda", generator=generator,
                                 dtype=torch.float64 if dtype == "fp64" else torch.float32)
            if fp8:
                values = (values * FP8_SIGMA).clamp(-FP8_MAX, FP8_MAX)
            if dtype == "int8":
                values = (values * INT8_SIGMA).round().clamp(-128, 127)
            return values.to(to)

        # As stored: the last index is contiguous. BLAS letters of column-major matrices.
        a_type = torch.float8_e5m2 if dtype == "fp8_e5m2" else storage
        a = operand(p["m"], p["k"], a_type) if layout[0] == "t" else operand(p["k"], p["m"], a_type)
        b = operand(p["n"], p["k"]) if layout[1] == "n" else operand(p["k"], p["n"])
        y = torch.empty((p["m"], p["n"]) if batch == 1 else (batch, p["m"], p["n"]), device="cuda", dtype=out_dtype)
        self.sets = rotation_sets(l2_bytes, sum(t.numel() * t.element_size() for t in (a, b, y)))

        def views(a, b, y):
            return (a if layout[0] == "t" else a.mT), (b.mT if layout[1] == "n" else b), y

        self._sets = [views(a, b, y)]
        self._sets += [views(a.clone(), b.clone(), torch.empty_like(y)) for _ in range(self.sets - 1)]

    def enqueue(self, iteration):
        a, b, y = self._sets[iteration % self.sets]
        if self._fp8:
            self._torch._scaled_mm(a, b, scale_a=self._scale, scale_b=self._scale,
                                   out_dtype=y.dtype, use_fast_accum=self._fast_accum, out=y)
        elif self._dtype == "int8":
            self._torch._int_mm(a, b, out=y)
        elif y.dim() == 3:
            self._torch.bmm(a, b, out=y)
        else:
            self._torch.mm(a, b, out=y)

    def _tolerance(self):
        if self._dtype == "int8":
            return 0.0  # sums of integers, in double too
        if self._dtype == "fp64":
            return 16 * 2.0**-53 * (math.sqrt(self._k) + 1)  # the reference's own sums err as much
        return GEMM_TOLERANCE.get(self._dtype, DEFAULT_GEMM_TOLERANCE)

    def verify(self):
        """Evenly spread rows of every matrix of the last set in double precision."""
        torch = self._torch
        a, b, y = self._sets[-1]
        y.fill_(INT32_POISON if self._dtype == "int8" else float("nan"))
        self.enqueue(self.sets - 1)
        rows = torch.linspace(0, y.shape[-2] - 1, CHECKED_ROWS, device="cuda").long()
        # A float8 tensor can't be indexed, its bytes can.
        picked = a.view(torch.uint8)[rows].view(a.dtype) if self._fp8 else a[..., rows, :]
        reference = picked.double() @ b.double()
        if self._fp8:
            reference *= self._scale.double() ** 2
        return error_of(torch, y[..., rows, :], reference), self._tolerance(), "double, 64 rows"


class AttentionJob:
    """Forward or backward pass in rotating sets; outputs rotate too, as they are kept until replaced."""

    def __init__(self, torch, case, l2_bytes, seed):
        p = case.params
        if p["dtype"] == "fp8":
            raise ValueError("attention is measured in bf16 and fp16 here")
        self._torch = torch
        self._causal, self._backward = bool(p["causal"]), p["pass"] == "backward"
        key_heads, keys = peer_cases.attention_sizes(p)
        self._group = p["heads"] // key_heads  # heads that share keys and values, one after another
        dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}[p["dtype"]]
        generator = torch.Generator(device="cuda").manual_seed(seed)
        query_side = (p["batch"], p["seq"], p["heads"], p["head_dim"])
        key_side = (p["batch"], keys, key_heads, p["head_dim"])
        values = [torch.randn(shape, device="cuda", generator=generator).to(dtype)
                  for shape in (query_side, key_side, key_side, query_side)]
        bytes_per_set = int(peer_cases.work_of(case)[0]["bytes"])
        self.sets = rotation_sets(l2_bytes, bytes_per_set)
        self._inputs, self._gradients = [], []
        for index in range(self.sets):
            own = values if index == 0 else [value.clone() for value in values]
            q, k, v, gradient = (value.transpose(1, 2) for value in own)
            self._inputs.append([t.detach().requires_grad_() for t in (q, k, v)])
            self._gradients.append(gradient)
        self._outputs = [self._forward(i) if self._backward else None for i in range(self.sets)]
        self._results = [None] * self.sets

    def _forward(self, index):
        sharing = {"enable_gqa": True} if self._group > 1 else {}  # older versions have no such argument
        return self._torch.nn.functional.scaled_dot_product_attention(
            *self._inputs[index], is_causal=self._causal, **sharing)

    def enqueue(self, iteration):
        index = iteration % self.sets
        if self._backward:
            self._results[index] = self._torch.autograd.grad(
                self._outputs[index], self._inputs[index], self._gradients[index],
                retain_graph=True)
        else:
            self._results[index] = (self._forward(index),)

    def verify(self):
        """Every result of the first and the last head of keys of the last set in double precision."""
        torch = self._torch
        last = self.sets - 1
        self.enqueue(last)
        error = 0.0
        for batch, key_head in ((0, 0), (-1, -1)):
            sharing = slice(0, self._group) if key_head == 0 else slice(-self._group, None)
            places = ((batch, sharing), (batch, key_head), (batch, key_head))
            q, k, v = (t.detach()[place].double().requires_grad_()
                       for t, place in zip(self._inputs[last], places))
            scores = q @ k.t() / math.sqrt(q.shape[-1])
            if self._causal:
                later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
                scores = scores.masked_fill(later, -math.inf)
            references = (scores.softmax(-1) @ v,)
            if self._backward:
                gradient = self._gradients[last][batch, sharing].double()
                references = torch.autograd.grad(references[0], (q, k, v), gradient)
            for result, reference, place in zip(self._results[last], references, places):
                found = error_of(torch, result[place].detach(), reference.detach(), by_row=True)
                error = found if math.isnan(found) else max(error, found)
                if math.isnan(error):
                    return error, ATTENTION_TOLERANCE, "double, two heads of keys"
        return error, ATTENTION_TOLERANCE, "double, two heads of keys"


class ConvJob:
    """y = conv2d(x, w), channels last, in rotating sets; outputs rotate too, as in attention."""

    def __init__(self, torch, case, l2_bytes, seed):
        p = case.params
        if p["pass"] != "forward":
            raise ValueError("only the forward pass is measured here")
        self._torch = torch
        torch.backends.cudnn.benchmark = True  # times cuDNN's algorithms once for each shape
        torch.backends.cudnn.allow_tf32 = p["dtype"] == "tf32"
        self._options = {"stride": p["stride"], "padding": p["pad"], "dilation": p["dilation"],
                         "groups": p["groups"]}
        storage = {"fp16": torch.float16, "bf16": torch.bfloat16, "tf32": torch.float32,
                   "fp32": torch.float32}[p["dtype"]]
        generator = torch.Generator(device="cuda").manual_seed(seed)
        channels = p["c"] // p["groups"]
        scale = (p["r"] * p["s"] * channels) ** -0.25  # as src/ops/conv/problem.cpp: outputs of order 1

        def operand(*shape):
            values = torch.randn(shape, device="cuda", generator=generator) * scale
            return values.to(storage).contiguous(memory_format=torch.channels_last)

        x, w = operand(p["n"], p["c"], p["h"], p["w"]), operand(p["k"], channels, p["r"], p["s"])
        self.sets = rotation_sets(l2_bytes, int(peer_cases.work_of(case)[0]["bytes"]))
        # preserve_format keeps channels_last.
        self._inputs = [(x, w)] + [(x.clone(), w.clone()) for _ in range(self.sets - 1)]
        self._results = [None] * self.sets

    def enqueue(self, iteration):
        index = iteration % self.sets
        x, w = self._inputs[index]
        with self._torch.no_grad():
            self._results[index] = self._torch.nn.functional.conv2d(x, w, **self._options)

    def verify(self):
        """The first and the last image of the last set in double precision."""
        torch = self._torch
        last = self.sets - 1
        self.enqueue(last)
        x, w = self._inputs[last]
        picked = x[[0, -1]].double()
        reference = torch.nn.functional.conv2d(picked, w.double(), **self._options)
        return error_of(torch, self._results[last][[0, -1]], reference), CONV_TOLERANCE, "double, two images"


JOBS = {"ops/gemm": GemmJob, "ops/attention": AttentionJob, "ops/conv": ConvJob}


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
        make = JOBS[case.workload]
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
            if NO_KERNEL in str(error):  # what PyTorch's gate to cuDNN does not let through
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
