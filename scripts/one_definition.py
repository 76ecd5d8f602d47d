#!/usr/bin/env python3
"""Types with one name and two definitions: the linker takes the functions of either, without a word.

  one_definition.py FOLDER    lists them; exit code 1 if there are any
"""
import collections
import pathlib
import re
import sys

NAMESPACE = re.compile(r"\s*(?:inline )?namespace( [\w:]+)? \{")
TYPE = re.compile(r"(?:struct|class|enum class) (\w+)(?: final)?(?: : [^{;]*)? ?\{")


def types_of(path):
    """Names with their namespaces; those of unnamed namespaces are the file's own."""
    names = []
    for line in path.read_text().splitlines():
        if match := NAMESPACE.match(line):
            names.append((match.group(1) or f" {path}").strip())
        elif line.startswith("}  // namespace") and names:
            names.pop()
        elif match := TYPE.match(line):
            yield "::".join([*names, match.group(1)])


def main():
    places = collections.defaultdict(set)
    for path in sorted(pathlib.Path(sys.argv[1]).rglob("*")):
        if path.suffix in (".h", ".cc"):
            for name in types_of(path):
                places[name].add(str(path))
    twice = {name: files for name, files in places.items() if len(files) > 1}
    for name, files in twice.items():
        print(f"{name} is defined in {' and '.join(sorted(files))}")
    return 1 if twice else 0


sys.exit(main())
