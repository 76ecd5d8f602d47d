"""Options stand before or behind the operands of every command, and mean the same in all of them.

options.py KERNELSMITH

Each command gets operands that end it soon (a file that is not there) and options in every order: all
orders must say the same and exit alike. A command without a row is tried with common options only.
"""

import json
import os
import re
import subprocess
import sys
import tempfile

NOWHERE = "/nowhere/kernel.cu"
DIRECTION = ["--direction", "backward"]
# The command, its operands, its options, whether it is about one direction of a task.
ROWS = [
    ("verify", ["softmax", NOWHERE], [*DIRECTION, "--dtype", "float32", "--mode", "eval", "--draws", "2"], True),
    ("compare", [NOWHERE, NOWHERE], ["--task", "softmax", *DIRECTION, "--dtype", "float16"], True),
    ("plan", ["softmax", NOWHERE], [*DIRECTION, "--group", "hidden", "--configuration", "x"], True),
    ("estimate", ["softmax", NOWHERE], [*DIRECTION, "--gpu", "a100", "--group", "quick"], True),
    ("bench", ["softmax", NOWHERE], ["--only", "x", *DIRECTION, "--gpu", "l4"], True),
    ("translate", ["/nowhere/model.py"], [*DIRECTION, "--only", "x", "--dtype", "float16"], True),
    ("optimize", ["/nowhere/model.py"], [*DIRECTION, "--start", NOWHERE, "--gpu", "l4"], True),
    ("mutate", [NOWHERE], ["--operators", "wrong_bound", "--list"], False),
    ("mutants", [], ["--kernels", "/nowhere", "--only", "x", *DIRECTION], True),
    ("ask-verifier", [NOWHERE], ["--model", "replay:/nowhere", "--task", "softmax", *DIRECTION], True),
    ("archive list", [], ["--archive", "/nowhere/a.db", "--limit", "3"], False),
    ("archive runs", [], ["--archive", "/nowhere/a.db"], False),
    ("archive show", ["1"], ["--archive", "/nowhere/a.db"], False),
    ("archive diff", ["1", "2"], ["--archive", "/nowhere/a.db"], False),
    ("archive export", ["/nowhere/out"], ["--archive", "/nowhere/a.db", "--order", "newest"], False),
    ("archive add", ["/nowhere/report.json"], ["--source", NOWHERE], False),
    ("tasks list", [], ["--from", "/nowhere"], False),
    ("tasks show", ["/nowhere/model.py"], [*DIRECTION, "--group", "timing", "--mode", "eval"], True),
    ("tasks check", ["/nowhere/model.py"], [*DIRECTION, "--configuration", "x", "--dtype", "float16"], True),
    ("tasks new", ["/nowhere/model"], [], False),
    ("ops", ["pmevent"], ["--ptx"], False),
    ("sanitize", ["/nowhere/model.py", NOWHERE], [*DIRECTION, "--check", "memory", "--group", "quick"], True),
    ("profile", ["/nowhere/model.py", NOWHERE], [*DIRECTION, "--gpu", "t4", "--configuration", "x"], True),
    ("launch", ["/nowhere/kernel.ptx"], ["--arg", "out:u32[1]", "--block", "4", "--arg", "u32=1"], False),
    ("completion", ["bash"], [], False),
    ("cache", [], [], False),
    ("cache clear", [], ["--kind", "bench", "--older-than", "9999"], False),
    ("cache trim", [], ["--limit", "900GB"], False),
]
# These have no operands of ours: `run` hands everything on, and tests/cli has more of it.
WITHOUT_ORDER = {"run", "doctor"}

problems = []
# A cache of its own: that of the tests changes all the time.
CACHE = tempfile.TemporaryDirectory()
os.environ["KERNELSMITH_CACHE"] = CACHE.name


def kernelsmith(*words):
    return subprocess.run([sys.argv[1], *words], capture_output=True, text=True, timeout=100, check=False)


def outcome(words):
    ended = kernelsmith(*words)
    return ended.returncode, ended.stdout, ended.stderr


def check_same(name, orders):
    expected = outcome(orders[0])
    if "unknown" in expected[2] or "unexpected" in expected[2]:
        problems.append(f"{name}: {' '.join(orders[0])}: {expected[2]}")
    for order in orders[1:]:
        found = outcome(order)
        if found != expected:
            problems.append(f"{name}: {' '.join(order)}: {found}, not {expected}")


def help_of(command, option):
    """What --help says of an option, in one line."""
    text = kernelsmith(*command, "--help").stdout
    found = re.search(rf"^  {option}\b(?: \S+)*(.*(?:\n {{20,}}.*)*)", text, re.M)  # without its type and default
    return " ".join(found.group(1).split()) if found else None


all_commands = set(re.findall(r"^  ([a-z][a-z-]*)  +\S", kernelsmith("--help").stdout, re.M))
known = {row[0].split()[0] for row in ROWS} | WITHOUT_ORDER
if known - all_commands:
    problems.append(f"rows without a command: {sorted(known - all_commands)}")
COMMON = ["--json", "--seed", "3", "--quiet"]
for name in sorted(all_commands - {row[0].split()[0] for row in ROWS}):
    check_same(name, [[*COMMON, name, "--help"], [name, *COMMON, "--help"], [name, "--help", *COMMON]])

helps = {}
for name, operands, options, directed in ROWS:
    command = name.split()
    middle = [*command, *operands[:1], *options, *operands[1:]]
    check_same(name, [[*command, *options, *operands], [*command, *operands, *options], middle])
    check_same(name + " with common options", [[*COMMON, *command, *operands, *options],
                                               [*command, *operands, *options, *COMMON],
                                               [*command, *COMMON, *options, *operands]])
    if directed:
        ended = kernelsmith(*command, "--backward", "--direction", "forward", *operands)
        if ended.returncode != 2 or "another option asks for the" not in ended.stderr:
            problems.append(f"{name}: a contradiction is accepted: {ended}")
        short = [word for word in options if word not in DIRECTION]
        check_same(name + " --backward", [[*command, *operands, *options], [*command, *operands, "--backward", *short]])
    for option in ("--direction", "--backward", "--dtype", "--mode", "--group", "--configuration", "--gpu", "--task"):
        text = help_of(command, option)
        if text is not None and not (option == "--task" and command[0] == "archive"):
            helps.setdefault(option, {}).setdefault(text, []).append(name)
    for option in ("--direction", "--backward"):
        if directed != (help_of(command, option) is not None):
            problems.append(f"{name}: {option} is {'not ' if directed else ''}there")

# Whoever can choose the type of a task's numbers can choose the mode of its model.
for name in {name for names in helps.get("--dtype", {}).values() for name in names}:
    if help_of(name.split(), "--mode") is None:
        problems.append(f"{name}: --dtype is there, --mode is not")

for option, texts in helps.items():
    if len(texts) != 1:
        problems.append(f"{option} has several descriptions: {json.dumps(texts, indent=1)}")

print("\n".join(problems) if problems else "all as it should be")
sys.exit(1 if problems else 0)
