#!/usr/bin/env python3
"""Turns KernelBench's form of a solution (a Python file with `ModelNew` that calls CUDA functions made by `load_inline`)
into a .cu file for `kernelsmith verify`: the CUDA sources as they are, and a `forward` behind them that calls them as
ModelNew.forward does. Used by bench/public_kernels.py, in a process of its own, as it runs the solution's Python.

    printf 'TASK.py\tSOLUTION.py\tOUT.cu\n' | bench/public_kernels_convert.py

ModelNew.forward is traced by torch.fx with symbols for its tensors, at the task's own sizes and at smaller ones: a number
that differs between the two is a size, and becomes the size of a tensor in C++. What can't be said in C++ by the functions
that candidates have is an error, which names it. Each pair gets one line of answer: "converted", or why it is not."""
import contextlib
import importlib.util
import logging
import operator
import os
import pathlib
import re
import resource
import signal
import sys
import warnings

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python"))

import torch  # noqa: E402
import torch.fx  # noqa: E402
from torch import nn  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402
from torch.utils import cpp_extension  # noqa: E402

from kernelsmith_bridge.formats import open_task  # noqa: E402
from kernelsmith_bridge.reducing import reduce  # noqa: E402

# Operations of the smaller sizes: about those at which the verifier begins.
SMALLER_WORK = (200_000, 4_000_000)


# For one solution; tracing takes some seconds.
MOST_SECONDS = 60


class NotConvertible(Exception):
    pass


# ---- the solution's extensions, as symbols

class Extension:
    """What load_inline would have compiled. Its functions become calls in the trace."""

    def __init__(self, cpp, cuda, functions):
        self.cpp, self.cuda, self.functions = cpp, cuda, functions

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return ExtensionFunction(self, name)


class ExtensionFunction:
    def __init__(self, extension, name):
        self.extension, self.__name__, self.__module__ = extension, name, "extension"

    def __call__(self, *args, **kwargs):
        return CURRENT[-1].create_proxy("call_function", self, args, kwargs)


EXTENSIONS = []
CURRENT = []


def _sources(value):
    return "\n".join([value] if isinstance(value, str) else list(value or []))


def load_inline(name, cpp_sources=(), cuda_sources=(), functions=None, **_):
    wanted = [functions] if isinstance(functions, str) else list(functions or [])
    extension = Extension(_sources(cpp_sources), _sources(cuda_sources), wanted)
    EXTENSIONS.append(extension)
    return extension


@contextlib.contextmanager
def no_gpu():
    """The solution may speak of a GPU; there is none, and tensors stay where they are."""
    same = lambda self, *args, **kwargs: self  # noqa: E731
    changes = [(cpp_extension, "load_inline", load_inline), (torch.Tensor, "cuda", same), (nn.Module, "cuda", same),
               (torch.cuda, "is_available", lambda: True), (torch.cuda, "synchronize", lambda *a: None)]
    old = [(owner, name, getattr(owner, name)) for owner, name, _ in changes]
    for owner, name, value in changes:
        setattr(owner, name, value)
    try:
        yield
    finally:
        for owner, name, value in old:
            setattr(owner, name, value)


# ---- tracing

class Tracer(torch.fx.Tracer):
    def is_leaf_module(self, module, name):
        return type(module).__module__.startswith("torch.nn.modules") and not isinstance(module, nn.Sequential)

    def to_bool(self, proxy):
        """What is known of the task's tensors: on a GPU, contiguous, without gradients."""
        node = proxy.node
        if node.op == "call_method" and node.target == "is_contiguous":
            return True
        if node.target is getattr and node.args[1] in ("is_cuda", "requires_grad"):
            return node.args[1] == "is_cuda"
        return super().to_bool(proxy)


def import_file(path):
    spec = importlib.util.spec_from_file_location("solution", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Trace:
    """One configuration: the task's placeholders, and what ModelNew.forward does with them."""

    def __init__(self, task_path, solution_path, configuration):
        request = {"path": str(task_path), "direction": "forward", "configuration": configuration}
        with FakeTensorMode(allow_non_fake_inputs=True):
            task = open_task(request, lambda _: None)
            call = task.build()
            self.placeholders = [(p.name, p.role, p.origin, tuple(p.tensor.shape)) for p in call.placeholders]
            self.arguments = list(zip(call.argument_names, call.trees))
            initial = task.load().get_init_inputs() if hasattr(task.load(), "get_init_inputs") else []
            EXTENSIONS.clear()
            module = import_file(solution_path)
            if not hasattr(module, "ModelNew"):
                raise NotConvertible("there is no ModelNew")
            if isinstance(initial, dict):
                self.model = module.ModelNew(**initial)
            elif len(initial) == 2 and isinstance(initial[0], (list, tuple)) and isinstance(initial[1], dict):
                self.model = module.ModelNew(*initial[0], **initial[1])
            else:
                self.model = module.ModelNew(*initial)
        self.extensions = list(EXTENSIONS)
        tracer = Tracer()
        CURRENT.append(tracer)
        concrete = {}
        try:
            self.graph = tracer.trace(self.model, concrete)
        except NotConvertible:
            raise
        except Exception as error:  # whatever fx says of control flow that looks at data
            raise NotConvertible(f"its Python can't be traced: {type(error).__name__}: {str(error)[:120]}") from error
        finally:
            CURRENT.pop()
        self.nodes = list(self.graph.nodes)


# ---- C++

# Methods and functions of tensors that mean nothing here.
IDENTITY = {"cuda", "to", "float", "detach", "requires_grad_", "clone_if_needed"}
METHODS = {"contiguous", "view", "reshape", "transpose", "permute", "t", "unsqueeze", "squeeze", "flatten", "size", "dim",
           "numel", "mean", "sum", "expand", "clone", "item", "half", "pow", "sqrt", "abs", "neg"}
FUNCTIONS = {torch.relu: "torch::relu", torch.sigmoid: "torch::sigmoid", torch.tanh: "torch::tanh", torch.mean: "torch::mean",
             torch.sum: "torch::sum", torch.matmul: "torch::matmul", torch.mm: "torch::mm", torch.bmm: "torch::bmm",
             torch.flatten: "torch::flatten", torch.exp: "torch::exp", torch.clamp: "torch::clamp",
             torch.squeeze: "torch::squeeze", torch.unsqueeze: "torch::unsqueeze", torch.transpose: "torch::transpose",
             nn.functional.relu: "torch::relu", nn.functional.linear: "torch::linear",
             torch.empty_like: "torch::empty_like", torch.zeros_like: "torch::zeros_like",
             torch.softmax: "torch::softmax", torch.cat: "torch::cat"}
OPERATORS = {operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/", operator.floordiv: "/"}


def parameters_of(function):
    """The names of its parameters in C++."""
    match = re.search(rf"\b{function.__name__}\s*\(([^)]*)\)", function.extension.cuda + function.extension.cpp)
    return [re.sub(r"=.*", "", part).split()[-1].strip("&*") for part in match[1].split(",")] if match and match[1] else []


class Writer:
    """Writes the C++ of one trace. `literals` are the numbers in it by place, for comparing two traces."""

    def __init__(self, trace, sizes=None):
        self.trace = trace
        self.sizes = sizes or {}  # what stands at a place instead of the number
        self.literals = []
        self.lines = []
        self.names = {}
        self.values = {}  # C++ of nodes
        self.given = {origin or name: name for name, _, origin, _ in trace.placeholders}
        self.shapes = {name: shape for name, _, _, shape in trace.placeholders}
        self.taken = set()

    def write(self):
        inputs = [name for name, role, _, _ in self.trace.placeholders if role == "input"]
        scalars = [(name, tree) for name, tree in self.trace.arguments if type(tree) in (int, float, bool)]
        order = iter([name for name, _ in self.trace.arguments if name])
        known = set(inputs) | {name for name, _ in scalars}
        for node in self.trace.nodes:
            if node.op == "placeholder":
                try:
                    name = next(order)
                except StopIteration:
                    name = None
                if name is None or name not in known:
                    if node.args:  # a default
                        self.values[node] = self.value(node.args[0])
                        continue
                    raise NotConvertible("it takes other arguments than the task gives")
                self.values[node] = name
            elif not node.users and node.op != "output" and not isinstance(node.target, ExtensionFunction):
                continue  # it has been answered while tracing
            elif node.op == "get_attr":
                self.values[node] = self.parameter(node.target)
            elif node.op == "output":
                result = node.args[0]
                if isinstance(result, (tuple, list)):
                    self.lines.append("return std::make_tuple(" + ", ".join(self.value(v) for v in result) + ");")
                else:
                    self.lines.append(f"return {self.value(result)};")
            else:
                self.emit(node)
        return self.lines

    def parameter(self, target):
        """The task's parameter of that name, or the next one of its shape."""
        names = self.given
        if target in names:
            self.taken.add(names[target])
            return names[target]
        value = self.trace.model
        for part in target.split("."):
            value = getattr(value, part)
        if not isinstance(value, torch.Tensor):
            raise NotConvertible(f"{target} is no tensor")
        if target in self.names:
            return self.names[target]
        shape = tuple(value.shape)
        own = {name for name, _ in list(self.trace.model.named_parameters()) + list(self.trace.model.named_buffers())}
        for name, role, origin, other in self.trace.placeholders:
            if role != "input" and other == shape and name not in self.taken and origin not in own:
                self.taken.add(name)
                self.names[target] = name
                return name
        raise NotConvertible(f"the task has no parameter like {target} {list(shape)}")

    def value(self, value):
        if isinstance(value, torch.fx.Node):
            return self.values[value]
        if value is None:
            return "{}"
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int):
            self.literals.append(value)
            place = len(self.literals) - 1
            return self.sizes.get(place, str(value))
        if isinstance(value, float):
            if value in (float("inf"), float("-inf")):
                return ("-" if value < 0 else "") + "std::numeric_limits<double>::infinity()"
            return repr(value)
        if isinstance(value, str):
            return '"' + value + '"'
        if isinstance(value, (tuple, list)):
            return "{" + ", ".join(self.value(each) for each in value) + "}"
        raise NotConvertible(f"a {type(value).__name__} is handed over")

    def bind(self, node, text):
        name = f"v_{len(self.lines)}"
        self.lines.append(f"auto {name} = {text};")
        self.values[node] = name

    def arguments(self, args, kwargs=None, function=None):
        if kwargs and function is None:
            raise NotConvertible("arguments are handed over by name")
        args = list(args)
        if kwargs:
            order = parameters_of(function)
            args += [kwargs[name] for name in order[len(args):] if name in kwargs]
            if len(args) != len(order):
                raise NotConvertible("arguments are handed over by names that the C++ does not have")
        return ", ".join(self.value(each) for each in args)

    def emit(self, node):
        if node.op == "call_module":
            return self.layer(node)
        if node.op == "call_method":
            method = node.target
            if method in IDENTITY:
                self.values[node] = self.value(node.args[0])
                return None
            if method not in METHODS:
                raise NotConvertible(f"Python calls Tensor.{method}")
            rest = node.args[1:]
            if method in ("view", "reshape", "permute", "expand") and rest and not isinstance(rest[0], (tuple, list)):
                rest = (tuple(rest),)
            if method == "size" and not rest:
                raise NotConvertible("Python calls Tensor.size()")
            if node.kwargs:
                raise NotConvertible(f"Python calls Tensor.{method} with names")
            return self.bind(node, f"{self.value(node.args[0])}.{method}({self.arguments(rest)})")
        if isinstance(node.target, ExtensionFunction):
            return self.bind(node, f"{node.target.__name__}({self.arguments(node.args, node.kwargs, node.target)})")
        if node.target is getattr:
            if node.args[1] == "shape":
                self.values[node] = ("shape", node.args[0])
                return None
            if node.args[1] in ("is_cuda",):
                self.values[node] = "true"
                return None
            raise NotConvertible(f"Python looks at {node.args[1]}")
        if node.target is operator.getitem:
            of, index = node.args
            known = self.values.get(of)
            if isinstance(known, tuple) and isinstance(index, int):
                self.values[node] = f"{self.value(known[1])}.size({index})"
                return None
            if isinstance(index, int):
                return self.bind(node, f"{known}[{index}]")
            raise NotConvertible("Python takes a part of a tensor")
        if node.target in OPERATORS:
            a, b = node.args
            return self.bind(node, f"{self.value(a)} {OPERATORS[node.target]} {self.value(b)}")
        if node.target in FUNCTIONS:
            return self.bind(node, f"{FUNCTIONS[node.target]}({self.arguments(node.args, node.kwargs)})")
        raise NotConvertible(f"Python calls {getattr(node.target, '__name__', node.target)}")

    def layer(self, node):
        module = self.trace.model.get_submodule(node.target)
        x = self.value(node.args[0])
        parameter = lambda name: (self.parameter(f"{node.target}.{name}")  # noqa: E731
                                  if getattr(module, name, None) is not None else "{}")
        if isinstance(module, (nn.Identity,)):
            self.values[node] = x
            return
        if isinstance(module, nn.Linear):
            return self.bind(node, f"torch::linear({x}, {parameter('weight')}, {parameter('bias')})")
        for kind, name in ((nn.Conv1d, "conv1d"), (nn.Conv2d, "conv2d"), (nn.Conv3d, "conv3d")):
            if isinstance(module, kind) and module.padding_mode == "zeros" and not isinstance(module.padding, str):
                numbers = ", ".join(self.value(list(v)) for v in (module.stride, module.padding, module.dilation))
                return self.bind(node, f"torch::{name}({x}, {parameter('weight')}, {parameter('bias')}, {numbers}, "
                                       f"{self.value(module.groups)})")
        for kind, name in ((nn.ConvTranspose1d, "conv_transpose1d"), (nn.ConvTranspose2d, "conv_transpose2d"),
                           (nn.ConvTranspose3d, "conv_transpose3d")):
            if isinstance(module, kind):
                numbers = ", ".join([self.value(list(module.stride)), self.value(list(module.padding)),
                                     self.value(list(module.output_padding)), self.value(module.groups),
                                     self.value(list(module.dilation))])
                return self.bind(node, f"torch::{name}({x}, {parameter('weight')}, {parameter('bias')}, {numbers})")
        for kind, name in ((nn.ReLU, "relu"), (nn.Sigmoid, "sigmoid"), (nn.Tanh, "tanh")):
            if isinstance(module, kind):
                return self.bind(node, f"torch::{name}({x})")
        raise NotConvertible(f"Python calls nn.{type(module).__name__}")


def structure(trace):
    return [(node.op, getattr(node.target, "__name__", str(node.target)), len(node.args)) for node in trace.nodes]


def sizes_of(traces, writers):
    """For each number that differs between the configurations: the size of a tensor that is it in all of them."""
    result = {}
    for place, values in enumerate(zip(*(writer.literals for writer in writers))):
        if len(set(values)) == 1:
            continue
        for p, (name, _, _, shape) in enumerate(traces[0].placeholders):
            for axis in range(len(shape)):
                if all(trace.placeholders[p][3][axis] == value for trace, value in zip(traces, values)):
                    result.setdefault(place, f"(int64_t){name}.size({axis})")
        if place not in result:
            raise NotConvertible(f"a number that depends on the sizes is no size of a tensor: {values}")
    return result


HEADERS = ["torch/extension.h", "cuda.h", "cuda_runtime.h"]


def convert(task, solution):
    traces = [Trace(task, solution, {})]
    for work in SMALLER_WORK:
        try:
            smaller = reduce({"path": str(task), "direction": "forward", "configuration": {}, "work": work}, lambda _: None)
            traces.append(Trace(task, solution, smaller["configuration"]))
        except NotConvertible:
            raise
        except Exception:  # the verifier has to live with the sizes that there are, too
            continue
    if any(structure(trace) != structure(traces[0]) for trace in traces):
        raise NotConvertible("ModelNew does other things at other sizes")
    used = {node.target.extension for node in traces[0].nodes if isinstance(node.target, ExtensionFunction)}
    if not used:
        raise NotConvertible("ModelNew calls no CUDA function of its own")
    writers = [Writer(trace) for trace in traces]
    for writer in writers:
        writer.write()
    sizes = sizes_of(traces, writers)
    lines = Writer(traces[0], sizes).write()
    parts = [f"#include <{header}>" for header in HEADERS]
    for extension in traces[0].extensions:
        if extension in used:
            parts += [extension.cuda, extension.cpp]
    if any("PYBIND11_MODULE" in part for part in parts):
        raise NotConvertible("its sources have a PYBIND11_MODULE of their own")
    declared = []
    scalars = {name: tree for name, tree in traces[0].arguments if type(tree) in (int, float, bool)}
    for name, tree in traces[0].arguments:
        if name in scalars:
            kind = "bool" if isinstance(tree, bool) else "int64_t" if isinstance(tree, int) else "double"
            declared.append(f"{kind} {name}")
        elif name:
            declared.append(f"torch::Tensor {name}")
    declared += [f"torch::Tensor {name}" for name, role, _, _ in traces[0].placeholders if role != "input"]
    parts += ["", f"auto public_forward({', '.join(declared)}) {{", *("  " + line for line in lines), "}",
              'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &public_forward); }', ""]
    return "\n".join(parts)


def answer(task, solution, out):
    """What came of one pair: empty, or why it can't be converted."""
    task, solution, out = (pathlib.Path(each).resolve() for each in (task, solution, out))
    try:
        with no_gpu():
            text = convert(task, solution)
    except NotConvertible as error:
        return str(error)
    except Exception as error:  # of the solution's own Python
        return f"its Python fails: {type(error).__name__}: {str(error)[:160]}"
    out.write_text(text)
    return ""


def main():
    """Pairs come by lines, and each gets a process of its own: PyTorch is imported once, and one that hangs or changes
    things is alone with that."""
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(10_000)
    for line in sys.stdin:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.dup2(2, 1)
            # By the clock only what sleeps: the machine may be busy.
            signal.alarm(20 * MOST_SECONDS)
            resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
            os.write(writer, " ".join(answer(*line.rstrip("\n").split("\t")).split()).encode() or b"converted")
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            print(pipe.read().decode() or "its Python takes too long", flush=True)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
