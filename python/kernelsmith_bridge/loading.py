"""Imports a task's Python files: as a module of its own, with its sizes replaced where asked."""

import ast
import collections
import importlib.util
import os
import sys

from kernelsmith_bridge.errors import invalid

SIZE_FUNCTIONS = ("get_inputs", "get_init_inputs")
# Below this an integer is more likely an axis, a kernel width or a flag than a size to scale.
SMALLEST_SIZE = 8


def _size_literals(tree):
    """Integer literals that set the sizes of a task without arguments: module constants and the
    bodies of the functions that make inputs."""
    roots = []
    for statement in tree.body:
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
            roots.append(statement.value)
        elif isinstance(statement, ast.FunctionDef) and statement.name in SIZE_FUNCTIONS:
            roots.append(statement)
    for root in roots:
        for node in ast.walk(root):
            if isinstance(node, ast.Constant) and type(node.value) is int and node.value >= SMALLEST_SIZE:
                yield node


def size_literals(path):
    """The sizes of a file without arguments, {value: how often it stands there}."""
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read(), path)
    return collections.Counter(sorted(node.value for node in _size_literals(tree)))


def load_module(path, sizes=None):
    """sizes: {"32": new value} for all literals with this value, {"32#2": new value} for the second alone."""
    if not os.path.exists(path):
        raise invalid("no such file", file=path)
    folder = os.path.dirname(os.path.abspath(path))
    if folder not in sys.path:
        sys.path.insert(0, folder)
    name = "kernelsmith_task_" + os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None:
        raise invalid("not a Python file", file=path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if not sizes:
        spec.loader.exec_module(module)
        return module
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read(), path)
    seen = collections.Counter()
    for node in _size_literals(tree):
        seen[node.value] += 1
        one, all_of_them = f"{node.value}#{seen[node.value]}", str(node.value)
        node.value = sizes.get(one, sizes.get(all_of_them, node.value))
    exec(compile(tree, path, "exec"), module.__dict__)
    return module


def task_sources(root):
    """Every imported file below `root`: what a cached answer depends on."""
    root = os.path.realpath(root)
    files = set()
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if file and os.path.realpath(file).startswith(root + os.sep) and os.path.exists(file):
            if "site-packages" not in file:
                files.add(os.path.realpath(file))
    return sorted(files)
