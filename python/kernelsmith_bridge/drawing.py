"""Configurations that nobody has listed, drawn from a seed: a kernel that is right only at the sizes and
scalars that a task's file shows is not right.

Which sizes belong together only the task's code knows, so every step is tried on fake tensors, and what
PyTorch refuses is not drawn. A number that neither a tensor's shape nor a scalar argument shows is a part of
the task: a candidate, which never sees it, has it in its code, and it stays.
"""

import math
import random

from kernelsmith_bridge.errors import TaskError
from kernelsmith_bridge.formats import ModelTask, open_task
from kernelsmith_bridge.loading import size_literals
from kernelsmith_bridge.reducing import look, reduce

# Beside two and three modulo four, which no vector of four divides: one modulo four as a prime, and powers
# of two with their neighbours. Every axis has each of them in one of the drawn shapes.
KINDS = ("two", "three", "prime", "power")
# Sizes of the last axis and of the others: beyond a block's 1024 threads, and more than a warp.
LONGEST_INNER, LONGEST_OUTER = 1400, 48
# The grid's y and z end at 65535.
MANY_ROWS = 65537
# An argument that is never larger than this in any configuration is a kernel's width, a stride or a number of
# groups: other values than those between the listed ones may be another task.
SMALL = 8
# Trials on fake tensors, some milliseconds each.
MOST_TRIALS = 220


def _is_prime(n):
    return n > 1 and all(n % d for d in range(2, math.isqrt(n) + 1))


def _of_kind(kind, near, rng):
    """A size of this kind near `near`, at least 2."""
    if kind == "two":
        return max(near // 4, 1) * 4 + 2
    if kind == "three":
        return max(near // 4, 1) * 4 + 3
    if kind == "prime":
        n = max(near // 4, 1) * 4 + 1
        while not _is_prime(n):
            n += 4
        return n
    return max(2, 2 ** max(1, round(math.log2(max(near, 2)))) + rng.choice((-1, 0, 1)))


def _multiple(size, step):
    """The next multiple of `step`."""
    return -(-size // step) * step


class _Trials:
    """Looks at configurations of one request, within a limit."""

    def __init__(self, request, stage):
        self.request = {key: value for key, value in request.items() if key != "configurations"}
        self.stage = stage
        self.left = MOST_TRIALS

    def look(self, configuration):
        """Work, shapes and scalars; None where the task does not run, or nobody knows any more."""
        if self.left <= 0:
            return None
        self.left -= 1
        try:
            return look({**self.request, "configuration": configuration}, self.stage)
        except Exception:
            return None


class _Space:
    """What can be varied in a task, and within which limits."""

    def __init__(self, trials, base, listed):
        self.trials, self.base, self.listed = trials, base, listed
        self.task = open_task({**trials.request, "configuration": base}, trials.stage)
        self.of_literals = isinstance(self.task, ModelTask)
        self.defaults = {} if self.of_literals else self.task.size_arguments()
        self.here = trials.look(base)
        self.values = self._integers(base)
        self.axes = []  # names that change together, and change a shape
        self.integers = []  # names of scalars that the task itself varies
        if self.here is not None:
            self._find()

    def _integers(self, configuration):
        if self.of_literals:
            sizes = configuration.get("sizes") or {}
            return {str(v): sizes.get(str(v), v) for v in size_literals(self.task.path)}
        found = {}
        for side in ("input", "init"):
            arguments = {**self.defaults.get(side, {}), **(configuration.get(side) or {})}
            found.update({name: v for name, v in arguments.items() if type(v) is int and v > 0})
        return found

    def range_of(self, names):
        values = {v for each in self.listed for name, v in self._integers(each).items() if name in names}
        values |= {self.values[name] for name in names}
        return min(values), max(values)

    def step_of(self, names):
        """What divides every listed size. Where there are several, it is what the task asks for without
        saying so: rows that come apart in halves, heads, vectors."""
        values = {v for each in self.listed for name, v in self._integers(each).items() if name in names}
        return math.gcd(*values) if len(values) >= 3 else 1

    def with_sizes(self, configuration, names, size):
        result = dict(configuration)
        if self.of_literals:
            result["sizes"] = {**(result.get("sizes") or {}), **{name: size for name in names}}
            return result
        for side in ("input", "init"):
            known = {**self.defaults.get(side, {}), **(configuration.get(side) or {})}
            own = [name for name in names if name in known]
            if own:
                result[side] = {**(configuration.get(side) or {}), **{name: size for name in own}}
        return result

    def _find(self):
        taken = set()
        for name, value in self.values.items():
            if name in taken:
                continue
            alike = tuple(other for other, v in self.values.items() if v == value)
            # Alone if that runs; sizes that must be equal together.
            groups = [(name,), alike] if len(alike) > 1 else [(name,)]
            seen = None
            for names in groups:
                for size in (value + 1, 2 * value, max(1, value // 2)):
                    seen = self.trials.look(self.with_sizes(self.base, names, size))
                    if seen is not None:
                        break
                if seen is not None:
                    break
            if seen is None:
                continue
            taken |= set(names)
            if seen[1] != self.here[1]:
                self.axes.append(names)
            elif seen[2] != self.here[2]:
                low, high = self.range_of(names)
                if low < high:
                    self.integers.append(names)

    def depth(self, names):
        """How far from the last axis it is at the least, as in reducing.py."""
        size = self.values[names[0]]
        places = [len(s) - 1 - axis for s in self.here[1] for axis, each in enumerate(s) if each == size]
        return min(places, default=0)

    def leading(self):
        """The axis that the first tensor begins with; None: no size alone decides it."""
        first = self.here[1][0] if self.here[1] else ()
        for names in self.axes:
            larger = self.trials.look(self.with_sizes(self.base, names, 2 * self.values[names[0]]))
            if larger is not None and first and larger[1][0][:1] != first[:1] and larger[1][0][1:] == first[1:]:
                if self.range_of(names)[1] >= SMALL:
                    return names
        return None


def _shape(space, turn, limit, rng):
    """A configuration with every axis at another size."""
    configuration = dict(rng.choice(space.listed) if not space.of_literals and rng.random() < 0.5 else space.base)
    if space.trials.look(configuration) is None:
        configuration = dict(space.base)
    axes = list(space.axes)
    rng.shuffle(axes)
    changed = False
    for names in axes:
        low, high = space.range_of(names)
        if high < SMALL:
            sizes = [rng.randint(low, high)]
        else:
            longest = LONGEST_INNER if space.depth(names) == 0 else LONGEST_OUTER
            kind = KINDS[(turn + space.offset[names]) % len(KINDS)]
            near = math.exp(rng.uniform(math.log(4), math.log(longest)))
            # What must be a multiple of something often is one of the listed size.
            sizes = [_of_kind(kind, int(near / step), rng) for step in (1, 4, 16, 64)]
            sizes = [_multiple(size, space.step_of(names)) for size in sizes]
            sizes += [space.values[names[0]] * factor for factor in (3, 1)]
        for size in sizes:
            trial = space.with_sizes(configuration, names, size)
            seen = space.trials.look(trial)
            if seen is not None and seen[0] <= limit:
                changed |= trial != configuration
                configuration = trial
                break
        else:
            # A listed size may be too large for the others.
            for size in (3, 2, 1):
                trial = space.with_sizes(configuration, names, size * space.step_of(names))
                if space.trials.look(trial) is not None:
                    configuration = trial
                    break
    seen = space.trials.look(configuration)
    return configuration if changed and seen is not None and seen[0] <= limit else None


def _many_rows(space, limit, rng):
    names = space.leading()
    if names is None:
        return None
    rows = _multiple(MANY_ROWS + rng.randrange(64), space.step_of(names))
    configuration = space.with_sizes(space.base, names, rows)
    for other in sorted((each for each in space.axes if each != names), key=lambda each: -space.values[each[0]]):
        low, _ = space.range_of(other)
        # More than one in a row, so that there is something to sum.
        least = rng.choice((2, 3)) if space.depth(other) == 0 else 1
        for size in dict.fromkeys((least, 1, 2, 3, 4, low)):
            trial = space.with_sizes(configuration, other, _multiple(size, space.step_of(other)))
            if space.trials.look(trial) is not None:
                configuration = trial
                break
    seen = space.trials.look(configuration)
    return configuration if seen is not None and seen[0] <= limit else None


def _other_float(value, rng):
    """Another value of the same kind, far enough away to show in the results. None: it has a meaning of its
    own (nothing, no limit), and another one would be another task."""
    if value == 0 or not math.isfinite(value):
        return None
    size, sign = abs(value), math.copysign(1.0, value)
    if size < 1e-3:  # an epsilon
        return sign * math.exp(rng.uniform(math.log(0.02), math.log(0.2)))
    if size < 0.5:
        return sign * min(size * rng.uniform(2, 4), rng.uniform(0.45, 0.6))
    if size < 1:  # a share of the past
        return sign * rng.uniform(0.3, 0.9) * size
    return sign * size * rng.choice((rng.uniform(0.5, 0.8), rng.uniform(1.3, 2)))


def _with_scalar(space, configuration, name, value):
    """Where the task makes the scalar, or else in the call itself."""
    if not space.of_literals:
        for side in ("input", "init"):
            trial = {**configuration, side: {**(configuration.get(side) or {}), name: value}}
            seen = space.trials.look(trial)
            if seen is not None and seen[2].get(name) == value and seen[1] == space.here[1]:
                return trial
    trial = {**configuration, "scalars": {**(configuration.get("scalars") or {}), name: value}}
    seen = space.trials.look(trial)
    return trial if seen is not None and seen[2].get(name) == value and seen[1] == space.here[1] else None


def _scalars(space, rng):
    """Each scalar alone, then all of them at once: [(names, configuration)]."""
    drawn, together, changed = [], space.base, []
    for name, value in space.here[2].items():
        if type(value) is not float or _other_float(value, rng) is None:
            continue
        alone = _with_scalar(space, space.base, name, _other_float(value, rng))
        if alone is None:
            continue
        drawn.append(([name], alone))
        more = _with_scalar(space, together, name, _other_float(value, rng))
        if more is not None:
            together = more
            changed.append(name)
    for names in space.integers:
        low, high = space.range_of(names)
        others = [v for v in range(low, min(high, low + 64) + 1) if v != space.values[names[0]]]
        rng.shuffle(others)
        for size in others[:3]:
            trial = space.with_sizes(space.base, names, size)
            if space.trials.look(trial) is not None:
                drawn.append((list(names), trial))
                break
    if len(changed) > 1:
        drawn.append((changed, together))
    return drawn


def draw(request, stage):
    rng = random.Random(int(request["seed"]))
    listed = request["configurations"]
    base = listed[0]
    try:
        base = reduce({**request, "configuration": base, "work": request["scalar_work"]}, stage)["configuration"]
    except TaskError:
        pass  # It is as small as it can be.
    trials = _Trials(request, stage)
    space = _Space(trials, base, listed)
    if space.here is None:
        return {"shapes": [], "many_rows": [], "scalars": []}
    space.offset = {names: rng.randrange(len(KINDS)) for names in space.axes}
    shapes = []
    for turn in range(int(request["count"])):
        found = _shape(space, turn, int(request["work"]), rng) if space.axes else None
        if found is not None and found not in shapes and found not in listed:
            shapes.append(found)
    many = _many_rows(space, int(request["rows_work"]), rng) if space.axes else None
    trials.left = MOST_TRIALS
    scalars = [{"names": names, "configuration": trial} for names, trial in _scalars(space, rng)]
    return {"shapes": shapes, "many_rows": [many] if many is not None else [], "scalars": scalars}
