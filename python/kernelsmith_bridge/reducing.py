"""The same task at smaller shapes: halves sizes, one at a time, as long as the task still runs.

Sizes depend on each other in ways that only the task's code knows (heads divide the width, an init
size equals an input size), so every step is tried on fake tensors, which cost no memory.
"""

import contextlib

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils import _pytree as pytree
from torch.utils.flop_counter import FlopCounterMode

from kernelsmith_bridge.errors import TaskError, invalid
from kernelsmith_bridge.formats import ModelTask, open_task
from kernelsmith_bridge.loading import SMALLEST_SIZE, size_literals
from kernelsmith_bridge.tracing import plain_operators

# Enough for every real task; each step takes some milliseconds.
MOST_STEPS = 160


class _Elements(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        self.count += sum(t.numel() for t in pytree.tree_leaves(result) if isinstance(t, torch.Tensor))
        return result


def scalars_of(call):
    """The numbers that a candidate gets beside its tensors, by name."""
    return {name: tree for name, tree in zip(call.argument_names, call.trees) if type(tree) in (int, float)}


def look(request, stage):
    """One forward call on fake tensors: multiply-adds plus elements written, the shapes of what the call
    gets, and its scalars."""
    with FakeTensorMode(allow_non_fake_inputs=True), contextlib.ExitStack() as stack:
        task = open_task(request, stage)
        call = task.build()
        tensors = [p.tensor.detach() for p in call.placeholders]
        flops = stack.enter_context(FlopCounterMode(display=False))
        elements = stack.enter_context(_Elements())
        stack.enter_context(plain_operators())
        with torch.no_grad():
            call.run(tensors)
    work = flops.get_total_flops() // 2 + elements.count + sum(t.numel() for t in tensors)
    return work, [tuple(t.shape) for t in tensors], scalars_of(call)


def work_of(request, stage):
    """The work of one forward call and the shapes of what it gets."""
    return look(request, stage)[:2]


def _sizes(request, stage):
    """The sizes a configuration consists of, as they are now. For formats with arguments they are arguments
    by value: an equal number on both sides (or in two places) stays equal."""
    task = open_task(request, stage)
    configuration = request.get("configuration") or {}
    if isinstance(task, ModelTask):
        # Equal numbers are one size as long as that runs: most of them must stay equal.
        current = configuration.get("sizes") or {}
        sizes = {str(value): current.get(str(value), value) for value in size_literals(task.path)}
        return {**sizes, **{one: size for one, size in current.items() if "#" in one}}, None
    sides = {}
    for side, defaults in task.size_arguments().items():
        sides[side] = {**defaults, **(configuration.get(side) or {})}
    values = {v for side in sides.values() for v in _integers(side) if v >= SMALLEST_SIZE}
    return {value: value for value in sorted(values)}, sides


def _integers(value):
    if type(value) is int:
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _integers(item)
    elif isinstance(value, list):
        for item in value:
            yield from _integers(item)


def _replace(value, sizes):
    if type(value) is int:
        return sizes.get(value, value)
    if isinstance(value, dict):
        return {key: _replace(item, sizes) for key, item in value.items()}
    if isinstance(value, list):
        return [_replace(item, sizes) for item in value]
    return value


def _apart(sizes, request, stage):
    """The same with a size of its own for each of several equal numbers of a file, where only some of them
    may change: a norm over 64 channels behind a convolution of width 64."""
    literals = size_literals(open_task(request, stage).path)
    result = {}
    for key, size in sizes.items():
        times = literals[int(key)] if "#" not in key else 1
        result.update({f"{key}#{i + 1}": size for i in range(times)} if times > 1 else {key: size})
    return result


def _configuration(original, sizes, sides):
    result = dict(original or {})
    if sides is None:
        result["sizes"] = {old: new for old, new in sizes.items() if old.split("#")[0] != str(new)}
    else:
        changed = {old: new for old, new in sizes.items() if old != new}
        for side, arguments in sides.items():
            result[side] = _replace(arguments, changed)
    return result


def _steps(sizes, old):
    """Smaller values of one size, the first that runs is taken. Sizes that differ stay different where
    they can: a kernel that mistakes one for the other would be right where they are equal."""
    half = sizes[old] // 2
    apart = half
    taken = {size for value, size in sizes.items() if value != old}
    while apart in taken and apart > 4:
        apart //= 2
    return [apart, half] if apart not in taken and apart != half else [half]


def _depth(size, shapes):
    """How far from the last axis a size is at the least; a size that no tensor shows comes last."""
    places = [len(shape) - 1 - axis for shape in shapes for axis, each in enumerate(shape) if each == size]
    return min(places, default=-1)


def _next(sizes, open_sizes, shapes, keep):
    """The size to make smaller: the largest, or (keep "inner") the outermost that is more than two. What
    a thread or a block loops over is most often the last axis."""
    if keep != "inner":
        return max(open_sizes, key=lambda value: sizes[value])
    return max(open_sizes, key=lambda value: (sizes[value] > 2, _depth(sizes[value], shapes), sizes[value]))


def reduce(request, stage):
    target = int(request["work"])
    sizes, sides = _sizes(request, stage)
    original = request.get("configuration")
    before, shapes = work_of(request, stage)
    work = before
    stuck = set()
    for _ in range(MOST_STEPS):
        open_sizes = [old for old in sizes if old not in stuck and sizes[old] > 1]
        if work > target and not open_sizes and sides is None:
            apart = _apart(sizes, request, stage)
            if len(apart) > len(sizes):
                sizes, stuck = apart, set()
                continue
        if work <= target or not open_sizes:
            break
        old = _next(sizes, open_sizes, shapes, request.get("keep"))
        step = None
        for size in _steps(sizes, old):
            trial = {**sizes, old: size}
            configuration = _configuration(original, trial, sides)
            try:
                smaller, smaller_shapes = work_of({**request, "configuration": configuration}, stage)
            except Exception:
                continue
            # A number that no tensor shows (groups, heads, the width of a pool) is no size but a part of
            # the task: a candidate, which never sees it, has it in its code.
            if smaller_shapes == shapes:
                continue
            # Not at any price: a shape of a few elements shows less than one with equal sizes.
            if smaller < work and (smaller >= target // 8 or size == sizes[old] // 2):
                step = trial, smaller, smaller_shapes
                break
        if step is None:
            stuck.add(old)
            continue
        sizes, work, shapes = step
    if work > target:
        if work == before:
            raise invalid("the task can't be reduced: no smaller size runs")
        raise TaskError("unsupported", f"the task can't be reduced to {target} operations: "
                                       f"{work} is the least that runs")
    return {"configuration": _configuration(original, sizes, sides), "work": work, "work_before": before}
