#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""validate_report.py REPORT...: checks reports against configs/schema/report.schema.json.

Exit codes: 0 all valid, 1 a report is not, 2 jsonschema or the schema is missing.
"""
import json
import pathlib
import sys

SCHEMA = pathlib.Path(__file__).resolve().parent.parent / "configs/schema/report.schema.json"
MOST_SHOWN = 20


def refuse_constant(name):
    # Python reads NaN and Infinity, JSON has neither.
    raise ValueError(f"{name} is not JSON")


def load(path):
    text = sys.stdin.read() if str(path) == "-" else pathlib.Path(path).read_text(encoding="utf-8")
    return json.loads(text, parse_constant=refuse_constant)


def problems(report, schema):
    """Messages, each with the place in the report; empty for a valid one."""
    import jsonschema

    validator = jsonschema.validators.validator_for(schema)
    validator.check_schema(schema)
    found = sorted(validator(schema).iter_errors(report), key=lambda error: list(map(str, error.path)))
    return [f"/{'/'.join(map(str, error.path))}: {error.message[:300]}" for error in found]


def main(paths):
    if not paths:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        import jsonschema  # noqa: F401  (told apart from an invalid report)
    except ImportError:
        print("validate_report: no jsonschema; install python3-jsonschema", file=sys.stderr)
        return 2
    try:
        schema = load(SCHEMA)
    except OSError as error:
        print(f"validate_report: {error}", file=sys.stderr)
        return 2
    code = 0
    for path in paths:
        try:
            found = problems(load(path), schema)
        except (OSError, ValueError) as error:
            found = [str(error)]
        for message in found[:MOST_SHOWN]:
            print(f"{path}: {message}", file=sys.stderr)
        if len(found) > MOST_SHOWN:
            print(f"{path}: and {len(found) - MOST_SHOWN} more", file=sys.stderr)
        if found:
            code = 1
        else:
            print(f"{path}: valid")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
