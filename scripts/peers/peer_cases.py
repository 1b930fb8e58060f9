# SPDX-License-Identifier: Apache-2.0
"""Cases that peers measure, by gpubench's names: ids, work, and the default list. No torch here."""
import fnmatch

# Parameters and defaults of gpubench's workloads (`gpubench show ops/gemm`); tests/cli holds the ids made
# from them against `gpubench run --dry-run`.
DEFAULTS = {
    "ops/gemm": {
        "m": 4096, "n": 4096, "k": 4096, "dtype": "bf16", "layout": "tn", "epilogue": "none",
        "fast_accum": 1, "tune": 0, "impl": "auto",
    },
    "ops/attention": {
        "batch": 4, "heads": 16, "seq": 4096, "head_dim": 128, "dtype": "bf16", "causal": 0,
        "pass": "forward", "impl": "auto",
    },
    "ops/conv": {
        "pass": "forward", "dtype": "fp16", "n": 256, "h": 56, "w": 56, "c": 64, "k": 64, "r": 3, "s": 3,
        "stride": 1, "pad": 1, "dilation": 1, "groups": 1, "tune": 0, "impl": "auto",
    },
}

ELEMENT_BYTES = {"fp32": 4, "tf32": 4, "fp16": 2, "bf16": 2, "fp8": 1}


class Case:
    """A workload and all of its parameters."""

    def __init__(self, workload, **given):
        unknown = set(given) - set(DEFAULTS[workload])
        if unknown:
            raise ValueError(f"{workload} has no parameter {', '.join(sorted(unknown))}")
        self.workload = workload
        self.params = {**DEFAULTS[workload], **given}

    def given(self):
        """Parameters that are not at their default."""
        defaults = DEFAULTS[self.workload]
        return {key: value for key, value in self.params.items() if value != defaults[key]}

    @property
    def id(self):
        shown = "&".join(f"{key}={value}" for key, value in sorted(self.given().items()))
        return self.workload + ("?" + shown if shown else "")

    def with_params(self, **given):
        return Case(self.workload, **{**self.params, **given})


def gemm_work(m, n, k, dtype):
    """FLOPs and least bytes; the output has 4 bytes from FP32 and TF32, else 2 (BF16 from FP8)."""
    in_bytes = ELEMENT_BYTES[dtype]
    out_bytes = 4 if in_bytes == 4 else 2
    return {"flops": 2.0 * m * n * k, "bytes": float(in_bytes * (m * k + k * n) + out_bytes * m * n)}


def attention_work(batch, heads, seq, head_dim, causal, backward, element_bytes=2):
    rows = batch * heads * seq
    kept_per_row = (seq + 1) / 2 if causal else seq
    flops = 4.0 * rows * kept_per_row * head_dim * (2.5 if backward else 1)
    tensors = 8 if backward else 4
    return {"flops": flops, "bytes": float(tensors * rows * head_dim * element_bytes + 4 * rows)}


def conv_extent(size, filter_size, stride, pad, dilation):
    """Height or width of the output."""
    return (size + 2 * pad - (dilation * (filter_size - 1) + 1)) // stride + 1


def conv_work(n, h, w, c, k, r, s, stride, pad, dilation, groups, element_bytes=2):
    """Products with padding count."""
    p, q = (conv_extent(h, r, stride, pad, dilation), conv_extent(w, s, stride, pad, dilation))
    filters = k * r * s * c // groups
    elements = n * h * w * c + filters + n * p * q * k
    return {"flops": 2.0 * n * p * q * filters, "bytes": float(element_bytes * elements)}


def work_of(case):
    """(work object of the report, flop rule)"""
    p = case.params
    if case.workload == "ops/gemm":
        work, rule = gemm_work(p["m"], p["n"], p["k"], p["dtype"]), "gemm:2mnk"
    elif case.workload == "ops/conv":
        sizes = {key: value for key, value in p.items() if key not in ("pass", "dtype", "tune", "impl")}
        work = conv_work(**sizes, element_bytes=ELEMENT_BYTES[p["dtype"]])
        rule = "conv:2npqkcrs/groups"
    else:
        backward = p["pass"] == "backward"
        work = attention_work(p["batch"], p["heads"], p["seq"], p["head_dim"], bool(p["causal"]),
                              backward, ELEMENT_BYTES[p["dtype"]])
        rule = "attention:causal" if p["causal"] else "attention:4bhssd"
        rule += "*2.5" if backward else ""
    return {**work, "bytes_over": "memory", "items": 0.0, "item_name": None}, rule


def gemm_cases():
    cases = []
    for size in (8192, 4096):
        for dtype in ("bf16", "fp16", "tf32", "fp8"):
            for fast_accum in (1, 0) if dtype == "fp8" else (1,):
                cases.append(Case("ops/gemm", m=size, n=size, k=size, dtype=dtype,
                                  fast_accum=fast_accum))
    return cases


def attention_cases():
    shapes = (
        dict(batch=4, seq=4096, head_dim=128, causal=0),
        dict(batch=4, seq=4096, head_dim=128, causal=1),
        dict(batch=2, seq=8192, head_dim=128, causal=0),
        dict(batch=32, seq=512, head_dim=64, causal=0),
        dict(batch=8, seq=4096, head_dim=64, causal=0),
    )
    return [Case("ops/attention", **{**shape, "pass": direction})
            for shape in shapes for direction in ("forward", "backward")]


def conv_cases():
    pointwise = dict(r=1, s=1, pad=0)
    shapes = (
        dict(h=56, w=56, c=64, k=64),
        dict(h=28, w=28, c=128, k=128),
        dict(h=14, w=14, c=256, k=256),
        dict(h=7, w=7, c=512, k=512),
        dict(h=56, w=56, c=256, k=64, **pointwise),
        dict(h=14, w=14, c=1024, k=256, **pointwise),
        dict(h=224, w=224, c=3, k=64, r=7, s=7, stride=2, pad=3),
    )
    return [Case("ops/conv", dtype=dtype, **shape) for shape in shapes for dtype in ("fp16", "tf32")]


def default_cases(pattern="*"):
    """The cases whose id matches the glob; a pattern without * and ? matches as a substring."""
    if not any(sign in pattern for sign in "*?"):
        pattern = f"*{pattern}*"
    # fnmatchcase would read [...] as a set; ids hold none.
    cases = gemm_cases() + attention_cases() + conv_cases()
    return [case for case in cases if fnmatch.fnmatchcase(case.id, pattern)]


def pairing_key(workload, params, ignored=("impl", "tune")):
    """What two results of different implementations must share."""
    return workload, tuple(sorted((key, str(value)) for key, value in params.items()
                                  if key not in ignored))
