#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_layers.py [ROOT]: fails where a module includes upward, sideways, or CUDA headers it may not.

Reads every #include of src, kernels, workloads and include. A module may include itself, lower levels
and include/gpubench; the latter includes only itself. docs/architecture.md has the map.
"""
import pathlib
import re
import sys

LEVELS = {
    "util": 0,
    "core": 1,
    "device": 2,
    "libs": 3, "kernels": 3, "world": 3,
    "measure": 4, "report": 4,
    "ops": 5, "analysis": 5,
    "model": 6,
    "workloads": 7,
    "app": 8,
}
CONTRACTS = "gpubench"  # include/gpubench, open to all
SUFFIXES = {".h", ".cpp", ".cu", ".cuh"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')
CUDA_HEADER = re.compile(r"(cuda|cublas|cudnn|curand|nccl|nvml|nvrtc|nvtx|cute/|cutlass/|cub/)[\w/.]*\.(h|hpp|cuh)$")
# Only these folders may know NVIDIA's headers.
CUDA_FOLDERS = re.compile(r"^(kernels/|src/device/|src/libs/nvidia/|src/ops/(.*/)?(cuda|cudnn)/)")


def module_of(path):
    """Module of a file given relative to the root, or None where the layering has no say."""
    parts = path.parts
    if parts[0] == "include":
        return CONTRACTS
    if parts[0] in ("kernels", "workloads"):
        return parts[0]
    if parts[0] == "src":
        return "app" if len(parts) == 2 else parts[1]  # src/main.cpp belongs to the app
    return None


def target_of(include, file, root):
    """Module of an included header."""
    if (root / file.parent / include).is_file() or "/" not in include:
        return module_of(file)
    return include.split("/")[0]


def problem_with(module, target):
    """Why `module` may not include `target`, or None."""
    if target in (module, CONTRACTS):
        return None
    if module == CONTRACTS:
        return "include/gpubench holds contracts and includes nothing else of the project"
    if module not in LEVELS:
        return f"'{module}' is in no layer; give it a level in scripts/check_layers.py"
    if target not in LEVELS:
        return f"'{target}' is in no layer; is the path of the include wrong?"
    if LEVELS[target] > LEVELS[module]:
        return f"upward: {module} is level {LEVELS[module]}, {target} is level {LEVELS[target]}"
    if LEVELS[target] == LEVELS[module]:
        return f"sideways: {module} and {target} are neighbours of level {LEVELS[module]}"
    return None


def check_file(root, file):
    """Messages about one file; `file` is relative to `root`."""
    messages = []
    module = module_of(file)
    lines = (root / file).read_text(encoding="utf-8", errors="replace").splitlines()
    for number, line in enumerate(lines, start=1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quoted, angled = match.groups()
        header = quoted or angled
        problem = problem_with(module, target_of(quoted, file, root)) if quoted else None
        if angled and CUDA_HEADER.match(angled) and not CUDA_FOLDERS.match(file.as_posix()):
            problem = "CUDA headers belong to src/device, src/libs/nvidia, src/ops/**/cuda|cudnn, kernels"
        if problem:
            messages.append(f"{file.as_posix()}:{number}: includes {header}: {problem}")
    return messages


def check_tree(root):
    messages = []
    for folder in ("include", "src", "kernels", "workloads"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                messages += check_file(root, path.relative_to(root))
    return messages


def main(arguments):
    root = pathlib.Path(arguments[0] if arguments else pathlib.Path(__file__).parent.parent)
    if not (root / "src").is_dir():
        print(f"check_layers: {root} has no folder src", file=sys.stderr)
        return 2
    messages = check_tree(root)
    for message in messages:
        print(message, file=sys.stderr)
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
