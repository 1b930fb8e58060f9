# SPDX-License-Identifier: Apache-2.0
"""What pytorch_ops.py measures: GEMM, attention and convolution in rotating sets of operands.

A job has `sets`, enqueue(iteration), and verify(), which gives (error, tolerance, reference). It raises
ValueError for what is not measured here.
"""
import math

import peer_cases

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

    def _references(self, index, batch, sharing, key_head, o):
        """O, and backward's dQ, dK, dV of the heads that share one head of keys. The gradients follow from the O
        that the forward pass stored, as backward is defined: that O's rounding is an input, not an error."""
        torch = self._torch
        q, k, v = (t.detach()[batch, heads].double()
                   for t, heads in zip(self._inputs[index], (sharing, key_head, key_head)))
        scale = 1 / math.sqrt(q.shape[-1])
        scores = scale * (q @ k.t())
        if self._causal:
            later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
            scores = scores.masked_fill(later, -math.inf)
        p = scores.softmax(-1)
        if not self._backward:
            return (p @ v,)
        d_o = self._gradients[index][batch, sharing].double()
        ds = scale * p * (d_o @ v.t() - (d_o * o).sum(-1, keepdim=True))
        dk = (ds.transpose(-1, -2) @ q).sum(0)
        return p @ v, ds @ k, dk, (p.transpose(-1, -2) @ d_o).sum(0)

    def verify(self):
        """Every result of the first and the last head of keys of the last set in double precision."""
        torch = self._torch
        last = self.sets - 1
        self.enqueue(last)
        error, worst = 0.0, ""
        names = ("o", "dq", "dk", "dv") if self._backward else ("o",)
        results = self._results[last]
        if self._backward:
            results = (self._outputs[last], *results)
        for batch, key_head in ((0, 0), (-1, -1)):
            sharing = slice(0, self._group) if key_head == 0 else slice(-self._group, None)
            places = ((batch, sharing), (batch, sharing), (batch, key_head), (batch, key_head))
            results_here = [result.detach()[place].double() for result, place in zip(results, places)]
            references = self._references(last, batch, sharing, key_head, results_here[0])
            for name, result, reference in zip(names, results_here, references):
                found = error_of(torch, result, reference, by_row=True)
                if math.isnan(found) or found > error:
                    error, worst = found, f", the largest error in {name}"
                if math.isnan(error):
                    break
        return error, ATTENTION_TOLERANCE, "double, two heads of keys" + worst


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
