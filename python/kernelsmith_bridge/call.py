"""A Call is what a candidate has to do: a function, its arguments by position, and the tensors in them.

The tensors are the placeholders of the graph. Arguments may nest tensors in lists, tuples, dicts and
modules; a module's parameters and buffers are placeholders of their own.
"""

import contextlib
import dataclasses
import re

import torch
from torch import nn
from torch.nn.utils.stateless import _reparametrize_module

from kernelsmith_bridge.errors import unsupported

DTYPES = {
    torch.float16: "float16", torch.bfloat16: "bfloat16", torch.float32: "float32", torch.float64: "float64",
    torch.int8: "int8", torch.int16: "int16", torch.int32: "int32", torch.int64: "int64",
    torch.uint8: "uint8", torch.bool: "bool",
}
DTYPE_OF_NAME = {name: dtype for dtype, name in DTYPES.items()}


def dtype_name(dtype):
    if dtype not in DTYPES:
        raise unsupported(f"unsupported dtype: {str(dtype).removeprefix('torch.')}")
    return DTYPES[dtype]


def float_json(value):
    """A float as docs/graph_format.md wants it: json writes every digit, but has no infinities."""
    if value != value:
        return {"float": "nan"}
    if value in (float("inf"), float("-inf")):
        return {"float": "inf" if value > 0 else "-inf"}
    return value


@dataclasses.dataclass
class Placeholder:
    name: str
    role: str  # input, parameter, buffer, tangent
    tensor: torch.Tensor
    origin: str = ""
    requires_grad: bool = False


@dataclasses.dataclass
class TensorSlot:
    """Stands in an argument tree where placeholder number `index` goes."""

    index: int


@dataclasses.dataclass
class ModuleSlot:
    module: nn.Module
    slots: dict  # state name -> TensorSlot


class Call:
    def __init__(self, name, function, argument_names, arguments, known=()):
        """known: (tensor, role, origin) for tensors whose role is not simply `input`."""
        self.name = name
        self.function = function
        self.placeholders = []
        self.saved = []  # extra tensors that only a backward call gets: (name, tensor)
        self._names = set()
        self._index_of = {}
        self._known = {id(tensor): (role, origin) for tensor, role, origin in known}
        self.argument_names = list(argument_names)
        self.trees = [self._to_slots(value, label) for label, value in zip(argument_names, arguments)]
        self.backward_trees = None  # (name, tree) pairs; None: gradients of the outputs, then the arguments
        self.backward_results = None  # placeholder names; None: every placeholder that asks for a gradient

    def unique_name(self, wanted):
        base = re.sub(r"\W", "_", wanted).strip("_") or "arg"
        if base[0].isdigit():
            base = "arg_" + base
        name, count = base, 1
        while name in self._names:
            count += 1
            name = f"{base}_{count}"
        self._names.add(name)
        return name

    def slot_of(self, tensor):
        index = self._index_of.get(id(tensor))
        return None if index is None else TensorSlot(index)

    def _tensor_slot(self, tensor, label):
        slot = self.slot_of(tensor)
        if slot is not None:
            return slot
        role, origin = self._known.get(id(tensor), ("input", label))
        dtype_name(tensor.dtype)
        if tensor.layout is not torch.strided:
            raise unsupported(f"unsupported layout: {tensor.layout} of argument {label}")
        asks = bool(tensor.requires_grad)
        self._index_of[id(tensor)] = len(self.placeholders)
        self.placeholders.append(Placeholder(self.unique_name(label), role, tensor, origin, asks))
        return TensorSlot(len(self.placeholders) - 1)

    def _to_slots(self, value, label):
        if isinstance(value, torch.Tensor):
            return self._tensor_slot(value, label)
        if isinstance(value, nn.Module):
            state = list(value.named_parameters()) + list(value.named_buffers())
            slots = {}
            for state_name, tensor in state:
                path = f"{label}_{state_name}" if label else state_name
                slots[state_name] = self._tensor_slot(tensor, path)
            return ModuleSlot(value, slots)
        if isinstance(value, dict):
            return {key: self._to_slots(item, f"{label}_{key}") for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            items = [self._to_slots(item, f"{label}_{i}") for i, item in enumerate(value)]
            return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
        return value

    def run(self, tensors):
        """Calls the function with `tensors` in place of the placeholders; in-place changes go to them."""
        modules = []

        def fill(tree):
            if isinstance(tree, TensorSlot):
                return tensors[tree.index]
            if isinstance(tree, ModuleSlot):
                modules.append(tree)
                return tree.module
            if isinstance(tree, dict):
                return {key: fill(item) for key, item in tree.items()}
            if isinstance(tree, (list, tuple)):
                items = [fill(item) for item in tree]
                return type(tree)(*items) if hasattr(tree, "_fields") else type(tree)(items)
            return tree

        arguments = [fill(tree) for tree in self.trees]
        with contextlib.ExitStack() as stack:
            for slot in modules:
                state = {name: tensors[item.index] for name, item in slot.slots.items()}
                stack.enter_context(_reparametrize_module(slot.module, state, tie_weights=True))
            return self.function(*arguments)

    def argument_json(self, tree):
        if isinstance(tree, TensorSlot):
            return {"tensor": self.placeholders[tree.index].name}
        if isinstance(tree, ModuleSlot):
            return {"dict": {name: self.argument_json(slot) for name, slot in tree.slots.items()}}
        if tree is None:
            return {"none": True}
        if isinstance(tree, bool):
            return {"bool": tree}
        if isinstance(tree, int):
            return {"int": tree}
        if isinstance(tree, float):
            value = float_json(tree)
            return value if isinstance(value, dict) else {"float": value}
        if isinstance(tree, str):
            return {"string": tree}
        if isinstance(tree, torch.dtype):
            return {"string": str(tree).removeprefix("torch.")}
        if isinstance(tree, dict):
            return {"dict": {str(key): self.argument_json(item) for key, item in tree.items()}}
        if isinstance(tree, (list, tuple)):
            return {"list": [self.argument_json(item) for item in tree]}
        return {"opaque": type(tree).__name__}

    def arguments_json(self, is_kept):
        """Arguments of the forward call. A module that stands alone passes its tensors one by one:
        a kernel has no use for the object. is_kept(placeholder) drops bookkeeping such as counters."""
        result = []
        for label, tree in zip(self.argument_names, self.trees):
            if isinstance(tree, ModuleSlot):
                for slot in tree.slots.values():
                    placeholder = self.placeholders[slot.index]
                    entry = {"name": placeholder.name, "value": {"tensor": placeholder.name}}
                    if is_kept(placeholder) and entry not in result:
                        result.append(entry)
            else:
                result.append({"name": label, "value": self.argument_json(tree)})
        return result
