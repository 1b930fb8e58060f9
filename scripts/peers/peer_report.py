# SPDX-License-Identifier: Apache-2.0
"""Builds a gpubench.report/1 for a peer, so that `gpubench compare` and all that follows takes it."""
import datetime
import json
import os
import platform
import shlex
import socket
import sys
import tempfile

import peer_cases

LIBRARIES = ("driver", "libcuda", "cudart", "cublaslt", "cudnn", "nccl", "nvml")
PEAK_KEYS = ("dtype", "datasheet_pct", "at_clock_pct", "memory_pct", "of_measured_roof_pct", "bound",
             "link_pct", "clock_mhz", "clock_source")
ENVIRONMENT_PREFIXES = ("NCCL_", "CUDA_", "CUBLAS_", "CUDNN_", "GPUBENCH_")


def recorded_environment(environment):
    """By allow-list: the rest may hold secrets."""
    return {name: value for name, value in sorted(environment.items())
            if name.startswith(ENVIRONMENT_PREFIXES) or name == "NVIDIA_TF32_OVERRIDE"}


def loaded_libraries(maps_text):
    """Paths of the libraries that this process has loaded, by the report's names."""
    sonames = {"libcuda": "libcuda.so", "cudart": "libcudart.so", "cublaslt": "libcublasLt.so",
               "cudnn": "libcudnn.so", "nccl": "libnccl.so", "nvml": "libnvidia-ml.so"}
    paths = {}
    for line in maps_text.splitlines():
        path = line.split(maxsplit=5)[-1]
        for name, soname in sonames.items():
            if os.path.basename(path).startswith(soname):
                paths[name] = path
    return paths


def libraries_object(paths, versions):
    return {name: {"version": versions.get(name), "path": paths.get(name)} for name in LIBRARIES}


def host_object():
    cpu = None
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            cpu = next((line.split(":", 1)[1].strip() for line in file
                        if line.startswith("model name")), None)
    except OSError:
        pass
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {"name": socket.gethostname(), "cpu": cpu, "cores": os.cpu_count(), "memory_bytes": memory,
            "os": f"{platform.system()} {platform.release()} {platform.machine()}"}


def device_object(**known):
    """A device without a catalogue entry: peers leave percentages to gpubench."""
    unknown = ("name uuid pci_id pci_device pci_subsystem arch sku sm_count memory_bytes l2_bytes "
               "max_sm_clock_mhz memory_clock_mhz bus_bits power_limit_w default_power_limit_w").split()
    device = {"index": 0, **dict.fromkeys(unknown), "match_rule": "none: a peer reads no catalogue",
              "pcie": dict.fromkeys(("gen", "width", "max_gen", "max_width")),
              "ecc": {"enabled": None}, "mig": None, "nvlinks": None,
              "other_processes": None, "virtualization": None, "compute_mode": None,
              "spec": None}
    return {**device, **known}


def result_object(case, impl, seed):
    """A result that has not run yet."""
    case = case.with_params(impl=impl)
    _, rule = peer_cases.work_of(case)
    return {
        "id": case.id, "workload": case.workload, "params": dict(sorted(case.params.items())),
        "device": 0, "impl": impl, "algorithm": None, "compute_type": None, "emulated": False,
        "status": "not_run", "reason": {"code": "E_NOT_RUN", "message": "not reached"},
        "warnings": [], "remarks": [],
        "reproduce": f"scripts/peers/pytorch_ops.py --cases {shlex.quote(case.with_params(impl='auto').id)}",
        "cache": "cold", "data": {"dist": "normal", "seed": seed}, "mode": "sustained",
        "sampling": None, "flop_rule": rule, "check": None, "work": None,
        "memory": {"peak_bytes": None, "workspace_bytes": None}, "time_s": None, "repeats": None,
        "samples_s": None,
        "rate": dict.fromkeys(("tflops", "gb_per_s", "items_per_s", "algbw_gb_per_s",
                               "busbw_gb_per_s")),
        "peak": dict.fromkeys(PEAK_KEYS), "telemetry": None, "model": None,
    }


def end_with(result, status, code, message):
    result["status"] = status
    result["reason"] = {"code": code, "message": message}


def add_measurement(result, case, measured):
    """`measured`: samples_s, kind, batch, warmup_s, duration_s, dropped, launch_bound, and time_s."""
    work, _ = peer_cases.work_of(case)
    result["status"], result["reason"] = "ok", None
    result["work"] = work
    result["samples_s"] = measured["samples_s"]
    result["time_s"] = measured["time_s"]
    unknown = dict.fromkeys(("block_s", "timer_resolution_s", "slowed"))
    result["sampling"] = {"paired": False, **unknown, **{key: measured[key] for key in (
        "kind", "batch", "warmup_s", "duration_s", "dropped", "launch_bound")}}
    seconds = measured["time_s"]["median"]
    result["rate"]["tflops"] = work["flops"] / seconds / 1e12
    result["rate"]["gb_per_s"] = work["bytes"] / seconds / 1e9


def report_object(version, cuda, libraries, device, policy, results, wall_s, complete):
    counts = {status: sum(result["status"] == status for result in results)
              for status in ("ok", "skipped", "failed", "wrong", "timeout", "not_run")}
    now = datetime.datetime.now(datetime.timezone.utc)
    return {
        "schema": "gpubench.report/1", "created": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "complete": complete, "command": sys.argv,
        "gpubench": {"version": version, "git": None, "binary_sha256": None,
                     "build": {"cuda": cuda, "compiler": None, "archs": []}},
        "host": host_object(), "libraries": libraries, "world": {"size": 1, "nodes": 1},
        "environment": recorded_environment(os.environ), "devices": [device],
        "suite": {"name": "peers", "sha256": None, "policy": policy}, "results": results,
        "comparisons": [], "summary": {**counts, "wall_s": wall_s},
    }


def save_atomically(path, value):
    folder = os.path.dirname(os.path.abspath(path))
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=os.path.basename(path) + ".")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(value, file, indent=1, allow_nan=False)
            file.write("\n")
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
