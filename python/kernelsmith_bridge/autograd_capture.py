"""What a robust-kbench candidate's `backward` gets and returns.

AutogradFunction.backward decides both: it calls the class attribute backward_fn with arguments of its
choice and hands the results on as gradients of AutogradFunction.forward's arguments. Both methods are
called directly, with a context of our own, so no gradient has to have the right shape yet.
"""

import torch

from kernelsmith_bridge.call import TensorSlot
from kernelsmith_bridge.errors import TaskError, invalid

# More results than any real operator has.
MOST_RESULTS = 24


class Context:
    """Stands in for the ctx of torch.autograd.Function."""

    def __init__(self, needs_input_grad):
        self.needs_input_grad = needs_input_grad
        self.saved_tensors = ()
        self.to_save = ()

    def save_for_backward(self, *tensors):
        self.saved_tensors = tensors
        self.to_save = tensors

    save_for_forward = save_for_backward

    def mark_dirty(self, *tensors):
        pass

    def mark_non_differentiable(self, *tensors):
        pass

    def set_materialize_grads(self, value):
        pass


class _Stop(Exception):
    pass


def run_forward(function, values):
    needs = tuple(isinstance(v, torch.Tensor) and v.requires_grad for v in values)
    context = Context(needs)
    with torch.no_grad():
        if function.setup_context is not torch.autograd.Function.setup_context:
            output = function.forward(*values)
            function.setup_context(context, tuple(values), output)
        else:
            output = function.forward(context, *values)
    return context, output


def capture_backward(call, function, values, names, path):
    context, output = run_forward(function, values)
    outputs = list(output) if isinstance(output, (list, tuple)) else [output]
    tangents = [torch.zeros_like(o) if isinstance(o, torch.Tensor) else None for o in outputs]
    seen = []

    def record(*args, **kwargs):
        seen.append(list(args) + list(kwargs.values()))
        raise _Stop

    function.backward_fn = staticmethod(record)
    try:
        function.backward(context, *tangents)
    except _Stop:
        pass
    if not seen:
        raise invalid("AutogradFunction.backward does not call backward_fn", file=path)
    call.backward_results = _results(call, function, context, tangents, values, path)

    def to_slots(value, label):
        if isinstance(value, torch.Tensor):
            for i, tangent in enumerate(tangents):
                if value is tangent:
                    return f"tangent {i}"
            slot = call.slot_of(value)
            if slot is not None:
                return slot
            for i, (_, tensor) in enumerate(call.saved):
                if tensor is value:
                    return f"saved {i}"
            # A view of an argument or something the forward pass computed: it travels by value.
            call.saved.append((call.unique_name(label), value))
            return f"saved {len(call.saved) - 1}"
        if isinstance(value, dict):
            return {key: to_slots(item, f"{label}_{key}") for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [to_slots(item, f"{label}_{i}") for i, item in enumerate(value)]
        return value

    trees = []
    for i, value in enumerate(seen[0]):
        tree = to_slots(value, f"saved_{len(call.saved)}")
        trees.append((_label(call, tree, i, len(tangents)), tree))
    call.backward_trees = trees
    call.recompute_saved = lambda tensors: _saved_again(call, function, seen[0], tensors, values)
    wanted = set(call.backward_results)
    for placeholder in call.placeholders:
        placeholder.requires_grad |= placeholder.name in wanted


def _label(call, tree, position, tangent_count):
    if isinstance(tree, TensorSlot):
        return call.placeholders[tree.index].name
    if isinstance(tree, str) and tree.startswith("tangent "):
        return "grad_output" if tangent_count == 1 else f"grad_output_{tree.split()[1]}"
    if isinstance(tree, str) and tree.startswith("saved "):
        return call.saved[int(tree.split()[1])][0]
    return f"arg_{position}"


def _results(call, function, context, tangents, values, path):
    """Names of the placeholders whose gradients backward_fn returns, in its order. The number of
    results is known only by trying: a function that unpacks three fails on two."""
    failure = None
    for count in range(1, MOST_RESULTS + 1):
        markers = [torch.zeros(()) for _ in range(count)]
        function.backward_fn = staticmethod(lambda *a, **k: markers[0] if count == 1 else tuple(markers))
        try:
            returned = function.backward(context, *tangents)
        except Exception as exception:
            failure = exception
            continue
        returned = list(returned) if isinstance(returned, (list, tuple)) else [returned]
        names = _match(call, markers, returned, values)
        if names is not None:
            return names
    asking = [p.name for p in call.placeholders if p.requires_grad]
    if failure is not None and not asking:
        raise invalid(f"AutogradFunction.backward failed: {failure}", file=path)
    return asking


def _match(call, markers, returned, values):
    names = []
    for marker in markers:
        at = [i for i, value in enumerate(returned) if value is marker]
        if len(at) != 1 or at[0] >= len(values) or not isinstance(values[at[0]], torch.Tensor):
            return None
        slot = call.slot_of(values[at[0]])
        if slot is None:
            return None
        names.append(call.placeholders[slot.index].name)
    return names


def _saved_again(call, function, recorded, tensors, values):
    """The by-value arguments for other input values: the forward pass runs again."""
    replaced = []
    for value in values:
        slot = call.slot_of(value) if isinstance(value, torch.Tensor) else None
        replaced.append(tensors[slot.index] if slot is not None else value)
    context, output = run_forward(function, replaced)
    outputs = list(output) if isinstance(output, (list, tuple)) else [output]
    seen = []

    def record(*args, **kwargs):
        seen.append(list(args) + list(kwargs.values()))
        raise _Stop

    function.backward_fn = staticmethod(record)
    try:
        function.backward(context, *[torch.zeros_like(o) for o in outputs])
    except _Stop:
        pass
    if not seen:
        raise TaskError("internal", "the backward call could not be recorded again")
    wanted = {id(tensor): i for i, (_, tensor) in enumerate(call.saved)}
    result = [None] * len(call.saved)

    def walk(old, new):
        if isinstance(old, torch.Tensor):
            if id(old) in wanted:
                result[wanted[id(old)]] = new
        elif isinstance(old, dict):
            for key in old:
                walk(old[key], new[key])
        elif isinstance(old, (list, tuple)):
            for a, b in zip(old, new):
                walk(a, b)

    walk(recorded, seen[0])
    return result
