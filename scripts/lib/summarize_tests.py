#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""summarize_tests.py CTEST_XML...: counts the single tests in ctest's JUnit files.

ctest counts executables; each holds many GoogleTest or unittest tests, and one whose tests all skip
themselves counts as passed there. The last line is "N passed, N failed, N skipped".
"""
import re
import sys
import xml.etree.ElementTree

GTEST_RAN = re.compile(r"^\[==========\] \d+ tests? from \d+ test suites? ran", re.M)
UNITTEST_RAN = re.compile(r"^Ran (\d+) tests? in ", re.M)


def gtest_counts(output):
    """(passed, failed, skipped) from GoogleTest's closing lines."""
    def number(word):
        # "[  SKIPPED ] 3 tests, listed below:" (singular for one); PASSED counts neither.
        found = re.findall(r"^\[\s+%s\s+\] (\d+) tests?[,.]" % word, output, re.M)
        return int(found[-1]) if found else 0
    return number("PASSED"), number("FAILED"), number("SKIPPED")


def unittest_counts(output):
    """(passed, failed, skipped) from the closing lines of Python's unittest."""
    ran = int(UNITTEST_RAN.findall(output)[-1])
    closing = re.findall(r"^(?:OK|FAILED)(?: \((.*)\))?$", output, re.M)
    details = dict(re.findall(r"([a-z ]+)=(\d+)", closing[-1])) if closing else {}
    details = {name.strip(): int(count) for name, count in details.items()}
    failed = (details.get("failures", 0) + details.get("errors", 0) +
              details.get("unexpected successes", 0))
    skipped = details.get("skipped", 0)
    return max(ran - failed - skipped, 0), failed, skipped


def test_counts(case):
    """(passed, failed, skipped) of one ctest test."""
    output = case.findtext("system-out") or ""
    status = case.get("status")
    counts = None
    if GTEST_RAN.search(output):
        counts = gtest_counts(output)
    elif UNITTEST_RAN.search(output):
        counts = unittest_counts(output)
    if status == "run":
        return counts or (1, 0, 0)
    if status == "disabled" or (status == "notrun" and case.find("skipped") is not None and
                                "SKIP" in (case.find("skipped").get("message") or "")):
        return 0, 0, 1
    if counts and counts[1]:
        return counts
    # Crashed, timed out or not built: whatever it printed, it failed.
    passed, _, skipped = counts or (0, 0, 0)
    return passed, 1, skipped


def main(paths):
    passed = failed = skipped = 0
    failures = []
    for path in paths:
        try:
            suite = xml.etree.ElementTree.parse(path).getroot()
        except (OSError, xml.etree.ElementTree.ParseError) as error:
            failures.append(f"{path}: {error}")
            failed += 1
            continue
        for case in suite.iter("testcase"):
            counts = test_counts(case)
            passed, failed, skipped = (passed + counts[0], failed + counts[1], skipped + counts[2])
            if counts[1]:
                failures.append(f"{path}: {case.get('name')}")
    for failure in failures:
        print(f"failed: {failure}")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 0 if failed == 0 and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
