# SPDX-License-Identifier: Apache-2.0
"""Cases that peers measure, by gpubench's names: ids, work, and the default list. No torch here."""
import fnmatch

# Parameters and defaults of gpubench's workloads (`gpubench show ops/gemm`); tests/cli holds the ids made
# from them against `gpubench run --dry-run`.
DEFAULTS = {
    "ops/gemm": {
        "m": 4096, "n": 4096, "k": 4096, "batch": 1, "dtype": "bf16", "layout": "tn", "epilogue": "none",
        "fast_accum": 1, "tune": 0, "impl": "auto",
    },
    "ops/attention": {
        "batch": 4, "heads": 16, "kv_heads": 0, "seq": 4096, "seq_kv": 0, "head_dim": 128, "dtype": "bf16",
        "causal": 0, "causal_align": "top_left", "window": 0, "pass": "forward", "impl": "auto",
    },
    "ops/conv": {
        "pass": "forward", "dtype": "fp16", "n": 256, "h": 56, "w": 56, "c": 64, "k": 64, "r": 3, "s": 3,
        "stride": 1, "pad": 1, "dilation": 1, "groups": 1, "tune": 0, "impl": "auto",
    },
}

ELEMENT_BYTES = {"fp64": 8, "fp32": 4, "tf32": 4, "fp16": 2, "bf16": 2, "fp8": 1, "fp8_e5m2": 1, "int8": 1}
# Of a GEMM's output, where it is not BF16 or FP16.
GEMM_OUTPUT_BYTES = {"fp64": 8, "fp32": 4, "tf32": 4, "int8": 4}


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


def gemm_work(m, n, k, dtype, batch=1):
    """FLOPs, or integer operations, and least bytes."""
    in_bytes, out_bytes = ELEMENT_BYTES[dtype], GEMM_OUTPUT_BYTES.get(dtype, 2)
    return {"flops": 2.0 * batch * m * n * k,
            "bytes": float(batch * (in_bytes * (m * k + k * n) + out_bytes * m * n))}


def attention_sizes(params):
    """(heads of keys, keys): 0 stands for as many as on the queries' side."""
    return params["kv_heads"] or params["heads"], params["seq_kv"] or params["seq"]


def attention_work(params):
    """Of full attention and of causal attention with as many keys as queries: what is measured here."""
    p = params
    key_heads, keys = attention_sizes(p)
    if p["window"] or (p["causal"] and keys != p["seq"]):
        raise ValueError("attention with a window, or causal with seq_kv other than seq, is not measured here")
    rows, key_rows = p["batch"] * p["heads"] * p["seq"], p["batch"] * key_heads * keys
    backward = p["pass"] == "backward"
    kept_per_row = (p["seq"] + 1) / 2 if p["causal"] else keys
    flops = 4.0 * rows * kept_per_row * p["head_dim"] * (2.5 if backward else 1)
    tensors = (4 if backward else 2) * (rows + key_rows) * p["head_dim"]
    rule = "attention:causal" if p["causal"] else "attention:4bhssd" if keys == p["seq"] else "attention:4bhstd"
    return ({"flops": flops, "bytes": float(tensors * ELEMENT_BYTES[p["dtype"]] + 4 * rows)},
            rule + ("*2.5" if backward else ""))


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
        work = gemm_work(p["m"], p["n"], p["k"], p["dtype"], p["batch"])
        rule = "gemm:2mnk" if p["batch"] == 1 else "gemm:2mnk*batch"
    elif case.workload == "ops/conv":
        sizes = {key: value for key, value in p.items() if key not in ("pass", "dtype", "tune", "impl")}
        work = conv_work(**sizes, element_bytes=ELEMENT_BYTES[p["dtype"]])
        rule = "conv:2npqkcrs/groups"
    else:
        work, rule = attention_work(p)
    return {**work, "bytes_over": "memory", "items": 0.0, "item_name": None}, rule


def gemm_cases():
    cases = []
    for size in (8192, 4096):
        for dtype in ("bf16", "fp16", "tf32", "fp8"):
            for fast_accum in (1, 0) if dtype == "fp8" else (1,):
                cases.append(Case("ops/gemm", m=size, n=size, k=size, dtype=dtype,
                                  fast_accum=fast_accum))
    cases.append(Case("ops/gemm", dtype="fp64"))
    cases += [Case("ops/gemm", m=8192, n=8192, k=8192, dtype=dtype) for dtype in ("int8", "fp8_e5m2")]
    cases += [Case("ops/gemm", layout=layout) for layout in ("nn", "nt", "tt")]
    cases += [Case("ops/gemm", m=1024, n=1024, k=1024, batch=64, dtype=dtype) for dtype in ("bf16", "tf32")]
    return cases


def attention_cases():
    shapes = (
        dict(batch=4, seq=4096, head_dim=128, causal=0),
        dict(batch=4, seq=4096, head_dim=128, causal=1),
        dict(batch=2, seq=8192, head_dim=128, causal=0),
        dict(batch=32, seq=512, head_dim=64, causal=0),
        dict(batch=8, seq=4096, head_dim=64, causal=0),
    )
    shapes += (
        dict(batch=2, heads=32, kv_heads=8, seq=4096, causal=1),
        dict(batch=4, heads=8, seq=4096, head_dim=256, causal=1),
    )
    cases = [Case("ops/attention", **{**shape, "pass": direction})
             for shape in shapes for direction in ("forward", "backward")]
    shared_keys = dict(heads=32, kv_heads=8, seq_kv=8192)
    cases.append(Case("ops/attention", batch=64, seq=1, **shared_keys))
    cases.append(Case("ops/attention", batch=2, seq=1024, **shared_keys))
    return cases


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
