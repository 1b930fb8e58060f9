# SPDX-License-Identifier: Apache-2.0
"""scripts/lib/summarize_tests.py: counts single tests, and nothing that failed gets lost."""
import contextlib
import io
import pathlib
import sys
import tempfile
import unittest
from xml.sax.saxutils import escape

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/lib"))
import summarize_tests  # noqa: E402

GTEST = """[==========] Running 3 tests from 1 test suite.
[==========] 3 tests from 1 test suite ran. (0 ms total)
[  PASSED  ] 1 test.
[  SKIPPED ] 1 test, listed below:
[  SKIPPED ] Gemm.OnGpu
[  FAILED  ] 1 test, listed below:
[  FAILED  ] Gemm.Odd

 1 FAILED TEST
"""
GTEST_SKIPPED = """[==========] 2 tests from 1 test suite ran. (0 ms total)
[  PASSED  ] 0 tests.
[  SKIPPED ] 2 tests, listed below:
"""
UNITTEST = """Ran 7 tests in 1.234s

FAILED (failures=1, errors=2, skipped=1)
"""


def case(name, status, output="", inside=""):
    return (f'<testcase name="{name}" status="{status}">{inside}'
            f"<system-out>{escape(output)}</system-out></testcase>")


class Summary(unittest.TestCase):
    def last_line(self, *cases):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "ctest.xml"
            path.write_text(f"<testsuite>{''.join(cases)}</testsuite>", encoding="utf-8")
            return self.run_main([str(path)])

    def run_main(self, paths):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = summarize_tests.main(paths)
        return out.getvalue().splitlines()[-1], code

    def test_counts_inside_executables(self):
        self.assertEqual(self.last_line(case("unit/a", "fail", GTEST), case("cli/b", "fail", UNITTEST)),
                         ("4 passed, 4 failed, 2 skipped", 1))

    def test_skipped_is_not_passed(self):
        self.assertEqual(self.last_line(case("gpu/a", "run", GTEST_SKIPPED), case("unit/plain", "run")),
                         ("1 passed, 0 failed, 2 skipped", 0))

    def test_crash_after_good_output_fails(self):
        good = GTEST_SKIPPED.replace("PASSED  ] 0", "PASSED  ] 5")
        self.assertEqual(self.last_line(case("unit/a", "fail", good)),
                         ("5 passed, 1 failed, 2 skipped", 1))

    def test_not_built_fails(self):
        self.assertEqual(self.last_line(case("unit/a", "notrun")), ("0 passed, 1 failed, 0 skipped", 1))

    def test_nothing_ran_fails(self):
        self.assertEqual(self.last_line(), ("0 passed, 0 failed, 0 skipped", 1))
        self.assertEqual(self.run_main(["/nonexistent.xml"]), ("0 passed, 1 failed, 0 skipped", 1))


if __name__ == "__main__":
    unittest.main()
