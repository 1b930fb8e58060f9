#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""thin_report.py IN OUT: a report without raw samples and telemetry series, for keeping in a repository.

Everything derived from them (medians, intervals, telemetry medians) stays; `gpubench compare` then uses the
intervals.
"""
import json
import sys


def thin(report):
    for result in report["results"]:
        if result.get("samples_s"):
            result["samples_s"] = []
        series = (result.get("telemetry") or {}).get("series")
        if series:
            result["telemetry"]["series"] = {key: [] for key in series}
    return report


def main(arguments):
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    with open(arguments[0], encoding="utf-8") as file:
        report = thin(json.load(file))
    with open(arguments[1], "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1, ensure_ascii=False)
        file.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
