# SPDX-License-Identifier: Apache-2.0
"""scripts/check_layers.py: the tree keeps its layers, and planted violations are found."""
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import check_layers  # noqa: E402


class Layers(unittest.TestCase):
    def messages(self, **files):
        """What the check says of a tree with these files, '__' in the name for '/'."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in files.items():
                stem, _, suffix = name.rpartition("_")
                path = root / f"{stem.replace('__', '/')}.{suffix}"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            return check_layers.check_tree(root)

    def test_the_tree_is_layered(self):
        self.assertEqual(check_layers.check_tree(ROOT), [])

    def test_downward_own_and_contract_includes_are_fine(self):
        self.assertEqual([], self.messages(
            src__ops__gemm__job_cpp='#include "gpubench/job.h"\n#include "core/formulas.h"\n'
                                    '#include "ops/support/op_job.h"\n#include "kernels/gemm/gemm.h"\n',
            src__main_cpp='#include "app/app.h"\n',
            include__gpubench__job_h='#include "gpubench/device.h"\n#include <vector>\n'))

    def test_upward_include_is_found(self):
        found = self.messages(src__core__suite_cpp='#include <vector>\n#include "ops/gemm/gemm.h"\n')
        self.assertEqual(len(found), 1)
        self.assertIn("src/core/suite.cpp:2", found[0])
        self.assertIn("upward", found[0])

    def test_sideways_include_is_found(self):
        found = self.messages(src__measure__sampler_h='  # include "report/writer.h"\n')
        self.assertEqual(len(found), 1)
        self.assertIn("sideways", found[0])

    def test_contract_that_includes_a_module_is_found(self):
        self.assertEqual(len(self.messages(include__gpubench__job_h='#include "util/text.h"\n')), 1)

    def test_unknown_module_is_found(self):
        self.assertEqual(len(self.messages(src__misc__thing_cpp='#include "util/text.h"\n')), 1)
        self.assertEqual(len(self.messages(src__app__thing_cpp='#include "misc/text.h"\n')), 1)

    def test_cuda_header_outside_its_folders_is_found(self):
        for header in ("cuda_runtime.h", "cublasLt.h", "cudnn_frontend.h", "nvml.h", "cuda/std/span.h"):
            text = f"#include <{header}>\n"
            self.assertEqual(len(self.messages(src__core__thing_cpp=text)), 1, header)
            self.assertEqual(len(self.messages(src__ops__gemm__gemm_cpp=text)), 1, header)
            self.assertEqual(self.messages(src__ops__gemm__cuda__gemm_cpp=text, kernels__copy_cu=text,
                                           src__libs__nvidia__nvml_cpp=text), [], header)


if __name__ == "__main__":
    unittest.main()
