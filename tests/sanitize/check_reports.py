"""Runs a program in several modes under `kernelsmith sanitize` and looks at every form of the report.

check_reports.py KERNELSMITH PROGRAM
"""

import json
import subprocess
import sys

KINDS = set(
    "out_of_bounds misaligned null use_after_free double_free write_to_readonly uninitialized_read "
    "race race_same_value barrier_divergence shuffle_mask deadlock livelock async_hazard leak "
    "launch_error api_error index_overflow nondeterministic".split()
)
problems = []


def check(condition, what):
    if not condition:
        problems.append(what)


def sanitize(*options, mode, timeout=100):
    command = [sys.argv[1], "sanitize", *options, sys.argv[2], mode]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)


def check_place(place, what):
    for key in ("file", "line", "kernel", "block", "thread", "message"):
        check(key in place, f"{what} has no {key}")
    for key in ("block", "thread"):
        value = place.get(key)
        check(value is None or (len(value) == 3 and all(isinstance(v, int) for v in value)), key)


def check_json(report, kinds):
    check([f["kind"] for f in report["findings"]] == kinds, f"kinds {report}")
    for finding in report["findings"]:
        check_place(finding, finding["kind"])
        for key in ("space", "count", "other", "severity"):
            check(key in finding, f"{finding['kind']} has no {key}")
        check(finding["kind"] in KINDS, finding["kind"])
        check(finding["severity"] in ("error", "warning", "note"), "severity")
        check(isinstance(finding["count"], int) and finding["count"] > 0, "count")
        if finding["other"] is not None:
            check_place(finding["other"], "other")


def check_sarif(report):
    """What the schema of SARIF 2.1.0 requires, of the parts that are there."""
    check(report["version"] == "2.1.0", "version")
    check(report["$schema"].startswith("https://"), "$schema")
    check(len(report["runs"]) == 1, "runs")
    for run in report["runs"]:
        driver = run["tool"]["driver"]
        check(isinstance(driver["name"], str), "driver")
        rules = [rule["id"] for rule in driver["rules"]]
        for rule in driver["rules"]:
            check(rule["help"]["text"].startswith(rule["shortDescription"]["text"]), "help")
            check(rule["helpUri"].startswith("file:///"), "helpUri must be absolute")
            check(rule["helpUri"].endswith(f"/docs/findings.md#{rule['id']}"), "helpUri")
            check(rule["defaultConfiguration"]["level"] in ("note", "warning", "error"), "rule level")
        check(len(rules) == len(set(rules)), "rules must be unique")
        for result in run["results"]:
            check(result["level"] in ("none", "note", "warning", "error"), "level")
            check(result["ruleId"] in rules, "ruleId")
            check(isinstance(result["message"]["text"], str), "message")
            check(result["occurrenceCount"] >= 1, "occurrenceCount")
            for location in result["locations"] + result.get("relatedLocations", []):
                physical = location.get("physicalLocation")
                if physical is not None:
                    check(isinstance(physical["artifactLocation"]["uri"], str), "uri")
                    check(physical["region"]["startLine"] >= 1, "startLine")
                for logical in location.get("logicalLocations", []):
                    check(isinstance(logical["fullyQualifiedName"], str), "logicalLocations")
                if "message" in location:
                    check(isinstance(location["message"]["text"], str), "location message")


clean = sanitize(mode="clean")
check(clean.returncode == 7, f"clean: exit code {clean.returncode}")
check(clean.stdout == "the program's own output\n", "clean: standard output")
check(json.loads(sanitize("--json", mode="clean").stdout)["findings"] == [], "clean: findings")

wrong = sanitize("--json", mode="wrong")
check(wrong.returncode == 1, f"wrong: exit code {wrong.returncode}")
check("the program's own output" in wrong.stderr, "wrong: the program's output is on stderr")
report = json.loads(wrong.stdout)
check_json(report, ["out_of_bounds", "race", "leak"])
check(report["findings"][0]["count"] == 32, "count of the accesses out of bounds")
check((report["errors"], report["warnings"]) == (2, 1), "numbers")

code = sanitize("--error-exitcode", "42", mode="wrong")
check(code.returncode == 42, f"--error-exitcode: {code.returncode}")
check(sanitize("--error-exitcode", "0", mode="wrong").returncode == 0, "--error-exitcode 0")
# A warning is no error: the program's own code.
check(sanitize(mode="leak").returncode == 3, "leak: exit code")

few = json.loads(sanitize("--json", "--max-findings", "1", mode="wrong").stdout)
check([f["kind"] for f in few["findings"]] == ["out_of_bounds"], "--max-findings")
check(few["left_off"] == 2, "left_off")
check("2 more findings" in sanitize("--max-findings", "1", mode="wrong").stderr, "left off in text")

only = json.loads(sanitize("--json", "--check", "race", mode="wrong").stdout)
check([f["kind"] for f in only["findings"] if f["severity"] == "error"][:1] != ["out_of_bounds"], "--check")

check_sarif(json.loads(sanitize("--sarif", mode="wrong").stdout))
check_sarif(json.loads(sanitize("--sarif", mode="clean").stdout))

for mode, exit_code, word in (("abort", 134, "signal 6"), ("kill", 137, "signal 9")):
    ended = sanitize("--json", mode=mode)
    check_json(json.loads(ended.stdout), ["out_of_bounds", "race"])
    check(ended.returncode == 1, f"{mode}: exit code {ended.returncode}")
    check(word in ended.stderr, f"{mode}: {ended.stderr}")
    ended = sanitize("--error-exitcode", "0", mode=mode)
    check(ended.returncode == 0, f"{mode}: exit code {ended.returncode} with --error-exitcode 0")
    ended = sanitize("--check", "leak", mode=mode)
    check(ended.returncode == exit_code, f"{mode}: exit code {ended.returncode} without findings")

forever = sanitize("--json", "--timeout", "3", mode="forever")
check_json(json.loads(forever.stdout), ["out_of_bounds", "race"])
check("--timeout" in forever.stderr, "forever: says so")
spin = sanitize("--json", "--watchdog", "1", mode="spin")
check(json.loads(spin.stdout)["findings"][0]["kind"] == "livelock", f"spin: {spin.stdout}")

print("\n".join(problems) if problems else "all as it should be")
sys.exit(1 if problems else 0)
