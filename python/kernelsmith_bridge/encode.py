"""Writes a traced call as docs/graph_format.md describes."""

import json
import os

import torch
from kernelsmith_bridge.safetensors_file import save_file
from torch._subclasses.fake_tensor import FakeTensor

from kernelsmith_bridge.call import TensorSlot, dtype_name, float_json
from kernelsmith_bridge.errors import unsupported
from kernelsmith_bridge.tracing import is_getitem, node_where

FORMAT = "kernelsmith-graph/1"


def tensor_meta(tensor):
    shape = [int(size) for size in tensor.shape]
    return {"shape": shape, "dtype": dtype_name(tensor.dtype), "strides": [int(s) for s in tensor.stride()]}


def _value_meta(value):
    if value is None:
        return [None]
    if isinstance(value, torch.Tensor):
        return [tensor_meta(value)]
    if isinstance(value, (list, tuple)):
        return [None if item is None else tensor_meta(item) for item in value]
    raise unsupported(f"unsupported: an operator that returns {type(value).__name__}")


class Encoder:
    def __init__(self, call, traced, task_name, direction):
        self.call = call
        self.traced = traced
        self.name = task_name
        self.direction = direction
        self.names = {}  # fx node -> name in the file
        self.taken = set()

    def _claim(self, node, wanted):
        name, count = wanted, 1
        while name in self.taken:
            count += 1
            name = f"{wanted}_n{count}"
        self.taken.add(name)
        self.names[node] = name
        return name

    def reference(self, node):
        if is_getitem(node):
            source, index = node.args
            return {"node": self.names[source], "index": int(index)}
        return {"node": self.names[node]}

    def value(self, value):
        if isinstance(value, torch.fx.Node):
            return self.reference(value)
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            return float_json(value)
        if isinstance(value, (list, tuple)):
            return [self.value(item) for item in value]
        if isinstance(value, torch.dtype):
            return {"dtype": dtype_name(value)}
        if isinstance(value, torch.device):
            return {"device": "cpu"}
        if isinstance(value, torch.layout):
            return {"layout": str(value).removeprefix("torch.")}
        if isinstance(value, torch.memory_format):
            return {"memory_format": str(value).removeprefix("torch.")}
        raise unsupported(f"unsupported operator argument of type {type(value).__name__}")

    def placeholders(self, nodes):
        counts, result = {}, []
        tangents = [(name, "tangent") for name in self.traced.tangent_names]
        entries = [(p.name, p.role) for p in self.call.placeholders] + tangents
        by_name = {p.name: p for p in self.call.placeholders}
        for node, (name, role) in zip(nodes, entries):
            self._claim(node, name)
            entry = {"name": name, "role": role, "index": counts.get(role, 0)}
            counts[role] = entry["index"] + 1
            # The tracer's own copy has lost the strides of a fake tensor's original in rare cases.
            source = by_name[name].tensor if name in by_name else node.meta["val"]
            entry.update(tensor_meta(source))
            if name in by_name:
                if by_name[name].origin:
                    entry["origin"] = by_name[name].origin
                if by_name[name].requires_grad:
                    entry["requires_grad"] = True
            result.append(entry)
        return result

    def encode(self, folder, stem):
        graph = self.traced.module.graph
        nodes = list(graph.nodes)
        placeholders = self.placeholders([node for node in nodes if node.op == "placeholder"])
        constants, data, encoded = [], {}, []
        for node in nodes:
            if node.op == "get_attr":
                tensor = getattr(self.traced.module, node.target)
                if isinstance(tensor, FakeTensor):
                    raise unsupported("a constant tensor of the task is too large to export")
                name = self._claim(node, str(node.target))
                constants.append({"name": name, **tensor_meta(tensor)})
                data[name] = tensor.detach().clone(memory_format=torch.contiguous_format)
            elif node.op == "call_function" and not is_getitem(node):
                name = self._claim(node, node.name)
                entry = {
                    "name": name,
                    "op": str(node.target),
                    "args": [self.value(arg) for arg in node.args],
                    "kwargs": {key: self.value(arg) for key, arg in node.kwargs.items()},
                    "outputs": _value_meta(node.meta.get("val")),
                }
                if node_where(node):
                    entry["where"] = node_where(node)
                encoded.append(entry)
        outputs = []
        for role, key, node in self.traced.outputs:
            entry = {"role": role, "index" if role == "output" else "of": key, "value": self.reference(node)}
            outputs.append(entry)
        document = {
            "format": FORMAT,
            "name": self.name,
            "direction": self.direction,
            "torch": torch.__version__.split("+")[0],
            "placeholders": placeholders,
            "nodes": encoded,
            "outputs": outputs,
            "eager": self.traced.module.eager,
            "call": self.call_json(),
        }
        if constants:
            document["constants"] = constants
            document["constants_file"] = f"{stem}.constants.safetensors"
            save_file(data, os.path.join(folder, document["constants_file"]))
        with open(os.path.join(folder, f"{stem}.json"), "w", encoding="utf-8") as file:
            json.dump(document, file, separators=(",", ":"))
        return document

    def _is_kept(self):
        """Parameters are always arguments; a buffer only if the graph reads or changes it."""
        used = set()
        for node in self.traced.module.graph.nodes:
            if node.op == "placeholder" and node.users:
                used.add(self.names.get(node))
        changed = {key for role, key, _ in self.traced.outputs if role == "mutated"}
        return lambda p: p.role != "buffer" or p.name in used or p.name in changed

    def call_json(self):
        """What a candidate's function gets and returns, by position."""
        call, traced = self.call, self.traced
        is_kept = self._is_kept()
        arguments = call.arguments_json(is_kept)
        results = [f"output.{key}" for role, key, _ in traced.outputs if role == "output"]
        if self.direction == "backward":
            gradients = [key for role, key, _ in traced.outputs if role == "gradient"]
            if call.backward_results is not None:
                gradients = [name for name in call.backward_results if name in gradients]
            results = [f"gradient.{name}" for name in gradients]
            arguments = self._backward_arguments(arguments)
        mutated = [f"mutated.{key}" for role, key, _ in traced.outputs if role == "mutated"]
        return {"arguments": arguments, "results": results, "mutated": mutated,
                "saved": [{"name": name, **tensor_meta(tensor)} for name, tensor in call.saved]}

    def _backward_arguments(self, forward_arguments):
        tangents = self.traced.tangent_names
        if self.call.backward_trees is None:
            leading = [{"name": name, "value": {"tensor": name}} for name in tangents]
            return leading + forward_arguments
        result, next_tangent = [], 0
        for label, tree in self.call.backward_trees:
            if tree is None and label.startswith("go"):
                # "go" in our suite; the second of several outputs is "go2" and so on.
                result.append({"name": label, "value": {"tensor": tangents[min(next_tangent, len(tangents) - 1)]}})
                next_tangent += 1
            else:
                result.append({"name": label, "value": self._backward_value(tree)})
        return result

    def _backward_value(self, tree):
        if isinstance(tree, str) and tree.startswith("tangent "):
            return {"tensor": self.traced.tangent_names[int(tree.split()[1])]}
        if isinstance(tree, str) and tree.startswith("saved "):
            return {"tensor": self.call.saved[int(tree.split()[1])][0]}
        if isinstance(tree, TensorSlot):
            return self.call.argument_json(tree)
        if isinstance(tree, dict):
            return {"dict": {str(key): self._backward_value(item) for key, item in tree.items()}}
        if isinstance(tree, (list, tuple)) and not hasattr(tree, "_fields"):
            return {"list": [self._backward_value(item) for item in tree]}
        return self.call.argument_json(tree)
