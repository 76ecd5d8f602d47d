"""Runs every case of a program of this folder under `kernelsmith sanitize`: the bad one must be
reported with each expected kind on an expected line and nothing else that is an error, the good one
must come out clean.

    run_cases.py KERNELSMITH PROGRAM SOURCE [CASE ...]
"""

import json
import re
import subprocess
import sys


def expectations(source):
    """{case: {kind: {lines}}}"""
    found = {}
    with open(source, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            for match in re.finditer(r"// EXPECT: (\w+) (\w+)", line):
                found.setdefault(match[1], {}).setdefault(match[2], set()).add(number)
    return found


def sanitize(kernelsmith, program, case, version):
    result = subprocess.run(
        [kernelsmith, "sanitize", "--json", program, case, version],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    try:
        return result.returncode, json.loads(result.stdout)["findings"], result.stderr
    except (json.JSONDecodeError, KeyError):
        return result.returncode, None, result.stdout + result.stderr


def problems_of(kernelsmith, program, case, expected):
    code, findings, text = sanitize(kernelsmith, program, case, "bad")
    if findings is None:
        return [f"no report: {text}"]
    problems = []
    for kind, lines in expected.items():
        at = [f["line"] for f in findings if f["kind"] == kind]
        if not any(line in lines for line in at):
            problems.append(f"bad: {kind} expected at line {sorted(lines)}, reported at {at}")
    for finding in findings:
        if finding["kind"] not in expected or finding["line"] not in expected[finding["kind"]]:
            problems.append(
                f"bad: not expected: {finding['kind']} at {finding['line']}: {finding['message']}"
            )
    if code != (1 if any(f["severity"] == "error" for f in findings) else 0):
        problems.append(f"bad: exit code {code}")
    code, findings, text = sanitize(kernelsmith, program, case, "good")
    if findings is None:
        return problems + [f"good: no report: {text}"]
    for finding in findings:
        problems.append(
            f"good: alarm: {finding['kind']} at {finding['line']}: {finding['message']}"
        )
    if code != 0:
        problems.append(f"good: exit code {code}")
    return problems


def main():
    kernelsmith, program, source, *chosen = sys.argv[1:]
    expected = expectations(source)
    names = subprocess.run([kernelsmith, "run", program], capture_output=True, text=True, check=True)
    cases = [name for name in names.stdout.split() if not chosen or name in chosen]
    failed = 0
    for case in cases:
        problems = (
            problems_of(kernelsmith, program, case, expected[case])
            if case in expected
            else ["has no EXPECT line"]
        )
        failed += bool(problems)
        for problem in problems:
            print(f"{case}: {problem}")
    for case in sorted(set(expected) - set(names.stdout.split())):
        print(f"{case}: expected, but the program has no such case")
        failed += 1
    print(f"{len(cases) - failed} of {len(cases)} pairs right")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
