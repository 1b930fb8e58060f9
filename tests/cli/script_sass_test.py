# SPDX-License-Identifier: Apache-2.0
"""The machine code of the sm_90a kernels: tensor core instructions of the right kind, no spills.

Reads the built program with cuobjdump and nvdisasm: of a CUDA toolkit, or the PyPI packages
nvidia-cuda-cuobjdump and nvidia-cuda-nvdisasm. Skipped where they or the kernels are missing.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sysconfig
import unittest

GPUBENCH = os.environ.get("GPUBENCH", "")
TOOLS = ("cuobjdump", "nvdisasm")
# What a kernel's operands make of wgmma.
INSTRUCTIONS = {"WgmmaBf16": "HGMMA", "WgmmaFp16": "HGMMA", "WgmmaTf32": "HGMMA", "WgmmaE4m3": "QGMMA",
                "WgmmaE5m2ByE4m3": "QGMMA", "WgmmaInt8": "IGMMA"}


def tool_path():
    """PATH with the folders of both tools, or None."""
    folders = ["/usr/local/cuda/bin", *os.environ.get("PATH", "").split(os.pathsep)]
    site = pathlib.Path(sysconfig.get_paths()["purelib"])
    folders += [str(folder) for folder in site.glob("nvidia/*/bin")]
    path = os.pathsep.join(folders)
    return path if all(shutil.which(tool, path=path) for tool in TOOLS) else None


def functions_of(text):
    """Instruction lines by function name, of cuobjdump -sass."""
    functions, lines = {}, []
    for line in text.splitlines():
        if match := re.search(r"Function : (\S+)", line):
            lines = functions.setdefault(match.group(1), [])
        elif re.match(r"\s+/\*[0-9a-f]{4,}\*/", line):
            lines.append(line)
    return functions


def problems_with(functions):
    """What is wrong with the GEMM kernels among the functions."""
    problems = []
    for name, lines in functions.items():
        if "gemm_sm90a_kernel" not in name:
            continue
        kind = max((kind for kind in INSTRUCTIONS if kind in name), key=len, default=None)
        if kind is None:
            problems.append(f"{name}: of no known kind")
            continue
        code = "\n".join(lines)
        wanted = INSTRUCTIONS[kind]
        others = {"HGMMA", "QGMMA", "IGMMA", "HMMA", "IMMA"} - {wanted}
        if not re.search(rf"\b{wanted}\b", code):
            problems.append(f"{name}: has no {wanted}")
        problems += [f"{name}: has {other}" for other in sorted(others) if re.search(rf"\b{other}\b", code)]
        spills = len(re.findall(r"\b(?:STL|LDL)\b", code))
        if spills:
            problems.append(f"{name}: {spills} accesses to local memory")
        # A fence of the whole GPU belongs before and after the work, not into it: two barriers of a cluster.
        fences = len(re.findall(r"\bMEMBAR\.\w+\.GPU\b", code))
        if fences > 4:
            problems.append(f"{name}: {fences} fences of the whole GPU")
    return problems


class Sass(unittest.TestCase):
    def test_kernels_have_their_instructions_and_no_spills(self):
        path = tool_path()
        if path is None:
            self.skipTest("needs cuobjdump and nvdisasm: pip install nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm")
        if not pathlib.Path(GPUBENCH).is_file():
            self.skipTest("the program has not been built")
        done = subprocess.run(["cuobjdump", "-sass", "-arch", "sm_90a", GPUBENCH], check=False, text=True,
                              capture_output=True, env={**os.environ, "PATH": path})
        functions = functions_of(done.stdout)
        kernels = [name for name in functions if "gemm_sm90a_kernel" in name]
        if not kernels and "gemm_sm90a_kernel" not in pathlib.Path(GPUBENCH).read_bytes().decode("latin-1"):
            self.skipTest("the program has no sm_90a kernels")
        self.assertGreater(len(kernels), 30, done.stderr)
        self.assertEqual(problems_with(functions), [])

    def test_planted_problems_are_found(self):
        name = "_Zgemm_sm90a_kernel_WgmmaBf16"

        def found(*lines):
            text = f"\t\tFunction : {name}\n" + "".join(f"        /*{i:04x}*/  {line} ;\n" for i, line in enumerate(lines))
            return problems_with(functions_of(text))

        good = "HGMMA.64x256x16.F32.BF16 R24, gdesc[UR12], R24"
        self.assertEqual(found(good), [])
        self.assertIn("no HGMMA", found("FFMA R0, R1, R2, R3")[0])
        self.assertIn("has HMMA", found(good, "HMMA.16816.F32 R0, R1, R2, R3")[0])
        self.assertIn("local memory", found(good, "STL [R1], R2")[0])
        self.assertIn("fences", found(good, *["MEMBAR.ALL.GPU"] * 5)[0])


if __name__ == "__main__":
    unittest.main()
