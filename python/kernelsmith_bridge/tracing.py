"""Turns a Call into a functional graph of core ATen operators.

Two passes of make_fx: the first follows the user's code (and autograd through it) as it is, so that
PyTorch's own derivative formulas apply to the operators the user wrote; the second runs that graph
again with mutations removed and composite operators decomposed.
"""

import contextlib
import operator
import os
import sys

import torch
import torch.fx as fx
import torch.fx.traceback as fx_traceback
from torch._decomp import core_aten_decompositions
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

from kernelsmith_bridge.call import DTYPES, dtype_name
from kernelsmith_bridge.errors import invalid, unsupported

aten = torch.ops.aten

RANDOM_HINT = "a random result can't be checked"


def decompositions():
    table = dict(core_aten_decompositions())
    return table


@contextlib.contextmanager
def plain_operators():
    """Keeps PyTorch to its general operators: fused CPU kernels are opaque to everything after us."""
    torch.backends.mha.set_fastpath_enabled(False)
    with sdpa_kernel(SDPBackend.MATH), torch.backends.mkldnn.flags(enabled=False):
        yield


class LineRecorder(TorchFunctionMode):
    """Notes the line of the task's code that each operator comes from."""

    def __init__(self, is_task_file):
        super().__init__()
        self.is_task_file = is_task_file

    def __torch_function__(self, function, types, args=(), kwargs=None):
        frame = sys._getframe(1)
        where = ""
        while frame is not None:
            if self.is_task_file(frame.f_code.co_filename):
                where = f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
                break
            frame = frame.f_back
        # stack_trace is the field that make_fx and Interpreter carry from node to node.
        fx_traceback.get_current_meta()["stack_trace"] = where
        return function(*args, **(kwargs or {}))


class Flattened:
    """What a call returns: tensors in pytree order, and which of them are differentiable."""

    def __init__(self, value):
        leaves = pytree.tree_leaves(value)
        self.tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


def _differentiable(tensors):
    return [i for i, t in enumerate(tensors) if t.is_floating_point() and t.requires_grad]


class _Rerun(fx.Interpreter):
    """Runs the first graph for the second pass. native_batch_norm changes its running statistics
    without saying so in its schema; its successor says so, and functionalisation then sees it."""

    def call_function(self, target, args, kwargs):
        if target is aten.native_batch_norm.default:
            x, weight, bias, mean, var, training, momentum, eps = args
            if training and mean is not None:
                return aten._native_batch_norm_legit.default(x, weight, bias, mean, var, training, momentum, eps)
            if training:
                return aten._native_batch_norm_legit.no_stats(x, weight, bias, training, momentum, eps)
            return aten._native_batch_norm_legit_no_training.default(x, weight, bias, mean, var, momentum, eps)
        return super().call_function(target, args, kwargs)


def _two_passes(function, tensors, is_task_file):
    with plain_operators(), fx_traceback.preserve_node_meta():
        with LineRecorder(is_task_file):
            first = make_fx(function, tracing_mode="fake", _allow_non_fake_inputs=True)(*tensors)
        fx_traceback.get_current_meta().clear()
        rerun = torch.func.functionalize(lambda *values: _Rerun(first).run(*values), remove="mutations")
        second = make_fx(rerun, tracing_mode="fake", _allow_non_fake_inputs=True,
                         decomposition_table=decompositions())(*tensors)
    second.eager = eager_operators(first)
    return second


def _metas(values):
    """Shapes and dtypes of the tensors among values, as (shape, dtype, strides)."""
    tensors = [v for v in pytree.tree_leaves(values) if isinstance(v, torch.Tensor) and known_dtype(v.dtype)]
    return [{"shape": list(t.shape), "dtype": dtype_name(t.dtype), "strides": list(t.stride())} for t in tensors]


def _is_view(target):
    """Gives other names to the same memory: no kernel runs."""
    schema = getattr(target, "_schema", None)
    if schema is None:
        return True
    return any(a.alias_info is not None and not a.alias_info.is_write for a in schema.returns)


def _is_inner(node):
    """Whether an operator with a `dim` argument runs along the last dimension: rows lie in one piece."""
    dims = node.args[1] if len(node.args) > 1 else None
    source = node.args[0].meta.get("val") if isinstance(node.args[0], fx.Node) else None
    if isinstance(dims, int) and not isinstance(dims, bool):
        dims = [dims]
    if not isinstance(source, torch.Tensor) or not isinstance(dims, (list, tuple)):
        return True
    last = source.dim() - 1
    return last in [d + last + 1 if isinstance(d, int) and d < 0 else d for d in dims]


def eager_operators(module):
    """What PyTorch's eager mode runs, in order: every operator that the user's code (and autograd)
    dispatches, before anything is decomposed. Views are left out."""
    graph = module.graph
    graph.eliminate_dead_code()
    result = []
    for node in graph.nodes:
        if node.op != "call_function" or is_getitem(node) or _is_view(node.target):
            continue
        inputs = fx.node.map_arg((node.args, dict(node.kwargs)), lambda n: n.meta.get("val"))
        entry = {"op": str(node.target), "inputs": _metas(inputs), "outputs": _metas(node.meta.get("val"))}
        if node.target is aten.convolution.default and node.args[6]:
            entry["transposed"] = True
        if not node.args or not _is_inner(node):
            entry["inner"] = False
        result.append(entry)
    return result


class Traced:
    """graph: the fx.GraphModule. outputs: (role, key, node) with key an index or a placeholder name."""

    def __init__(self, module, outputs, tangent_count):
        self.module = module
        self.outputs = outputs
        self.tangent_count = tangent_count
        self.tangent_names = []


def _mutations(graph, names):
    """functionalize() ends a graph with copy_ into each changed input: those become outputs."""
    placeholders = [node for node in graph.nodes if node.op == "placeholder"]
    name_of = {node: name for node, name in zip(placeholders, names)}
    mutated = {}
    for node in list(graph.nodes):
        if node.op == "call_function" and node.target is aten.copy_.default and node.args[0] in name_of:
            mutated[name_of[node.args[0]]] = node.args[1]
            node.replace_all_uses_with(node.args[1])
            graph.erase_node(node)
    return mutated


def _is_bookkeeping(graph, placeholder, value):
    """A counter: its new value depends on nothing but itself, and nothing else depends on it."""
    seen, stack = set(), [value]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if node.op == "placeholder" and node is not placeholder:
            return False
        stack.extend(node.all_input_nodes)
    reached, stack = set(), list(placeholder.users)
    while stack:
        node = stack.pop()
        if node in reached:
            continue
        reached.add(node)
        if node.op == "output":
            continue
        if node is not value and node not in seen:
            return False
        stack.extend(node.users)
    return True


def _drop_identities(graph):
    """alias, detach, copies and views to the same shape: nothing changes in a functional graph."""
    for node in list(graph.nodes):
        if node.op != "call_function":
            continue
        same = node.target in (aten.alias.default, aten.detach.default)
        if node.target in (aten.view.default, aten.clone.default):
            source = node.args[0].meta["val"]
            same = source.shape == node.meta["val"].shape and source.stride() == node.meta["val"].stride()
        if same:
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)


def _finish(module, call, names, tagged, tangent_count):
    graph = module.graph
    mutated = _mutations(graph, names)
    if tangent_count:
        mutated = {}  # what the forward pass changes is no business of a backward kernel
    by_name = dict(zip(names, [n for n in graph.nodes if n.op == "placeholder"]))
    for name in list(mutated):
        role = next((p.role for p in call.placeholders if p.name == name), "")
        if role == "buffer" and _is_bookkeeping(graph, by_name[name], mutated[name]):
            del mutated[name]
    output_node = next(n for n in graph.nodes if n.op == "output")
    values = pytree.tree_leaves(output_node.args[0], is_leaf=lambda v: v is None)
    outputs = [(role, key, node) for (role, key), node in zip(tagged, values) if node is not None]
    outputs += [("mutated", name, node) for name, node in mutated.items()]
    output_node.args = (tuple(node for _, _, node in outputs),)
    _drop_identities(graph)
    outputs = [(role, key, node) for (role, key, _), node in zip(outputs, output_node.args[0])]
    graph.eliminate_dead_code(is_impure_node=lambda node: node.op in ("placeholder", "output"))
    _refuse_random(graph)
    graph.lint()
    module.recompile()
    return Traced(module, outputs, tangent_count)


def _refuse_random(graph):
    for node in graph.nodes:
        if node.op == "call_function" and torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()):
            where = node_where(node)
            file, _, line = where.rpartition(":")
            raise unsupported(f"unsupported: random: {node.target}: {RANDOM_HINT}",
                              file=file or None, line=int(line) if line.isdigit() else 0)


def trace_forward(call, is_task_file):
    found = []

    def function(*tensors):
        with torch.no_grad():
            flat = Flattened(call.run(list(tensors)))
        found[:] = [flat]
        return flat.tensors

    tensors = [p.tensor.detach() for p in call.placeholders]
    module = _two_passes(function, tensors, is_task_file)
    tagged = [("output", i) for i in range(len(found[0].tensors))]
    traced = _finish(module, call, [p.name for p in call.placeholders], tagged, 0)
    if not traced.outputs:
        raise invalid("the task returns no tensor and changes none")
    return traced


def run_with_gradients(call, tensors, tangents, make_tangents=None):
    """Outputs of the call, and the gradients of the placeholders that ask for one (None: unused).
    tangents: one for each floating output that depends on such a placeholder, in order."""
    leaves = []
    for placeholder, tensor in zip(call.placeholders, tensors):
        if placeholder.requires_grad and not tensor.is_floating_point():
            raise invalid(f"argument {placeholder.name} asks for a gradient, but is {dtype_name(tensor.dtype)}")
        leaves.append(tensor.detach().requires_grad_(placeholder.requires_grad))
    wanted = [leaf for leaf, p in zip(leaves, call.placeholders) if p.requires_grad]
    if not wanted:
        raise invalid("no argument asks for a gradient: the task has no backward")
    with torch.enable_grad():
        # In-place operators on a leaf that asks for a gradient are an error of autograd's, so the call
        # gets a copy.
        flat = Flattened(call.run([leaf.clone() if leaf.requires_grad else leaf for leaf in leaves]))
        chosen = _differentiable(flat.tensors)
        if not chosen:
            raise invalid("no output depends differentiably on an argument: the task has no backward")
        if make_tangents is not None:
            tangents = make_tangents([flat.tensors[i] for i in chosen])
        gradients = torch.autograd.grad([flat.tensors[i] for i in chosen], wanted, tangents, allow_unused=True)
    return flat.tensors, chosen, gradients, tangents


def output_shapes(call):
    """Fake run of the joint call: the differentiable outputs, for the tangents' shapes."""
    from torch._subclasses.fake_tensor import FakeTensorMode, FakeTensor

    mode = next((p.tensor.fake_mode for p in call.placeholders if isinstance(p.tensor, FakeTensor)), None)
    mode = mode or FakeTensorMode(allow_non_fake_inputs=True)
    with mode, plain_operators():
        tensors = [p.tensor.detach() if isinstance(p.tensor, FakeTensor) else mode.from_tensor(p.tensor.detach())
                   for p in call.placeholders]
        outputs, chosen, _, _ = run_with_gradients(
            call, tensors, None, lambda selected: [torch.empty_like(t) for t in selected])
        return [(tuple(outputs[i].shape), outputs[i].dtype) for i in chosen], mode


def trace_backward(call, is_task_file):
    shapes, mode = output_shapes(call)
    count = len(call.placeholders)

    def function(*values):
        _, _, gradients, _ = run_with_gradients(call, list(values[:count]), list(values[count:]))
        return list(gradients)

    fake = any(type(p.tensor).__name__ == "FakeTensor" for p in call.placeholders)
    with mode if fake else contextlib.nullcontext():
        tangents = [torch.zeros(shape, dtype=dtype) for shape, dtype in shapes]
    tensors = [p.tensor.detach() for p in call.placeholders] + tangents
    module = _two_passes(function, tensors, is_task_file)
    names = tangent_names(call, len(tangents))
    tagged = [("gradient", p.name) for p in call.placeholders if p.requires_grad]
    traced = _finish(module, call, [p.name for p in call.placeholders] + names, tagged, len(tangents))
    traced.tangent_names = names
    if not any(role == "gradient" for role, _, _ in traced.outputs):
        raise invalid("no output depends differentiably on an argument: the task has no backward")
    return traced


def tangent_names(call, count):
    if count == 1:
        return [call.unique_name("grad_output")]
    return [call.unique_name(f"grad_output_{i}") for i in range(count)]


def node_where(node):
    """"model.py:12" or nothing."""
    text = node.meta.get("stack_trace") or ""
    return text if text and "\n" not in text and " " not in text else ""


def is_getitem(node):
    return node.op == "call_function" and node.target is operator.getitem


def known_dtype(dtype):
    return dtype in DTYPES
