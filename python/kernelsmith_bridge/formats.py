"""The task formats: each turns (direction, configuration, dtype, seed) into a Call."""

import inspect
import os
import random
import sys

import torch
from torch import nn

from kernelsmith_bridge.autograd_capture import capture_backward
from kernelsmith_bridge.call import Call, DTYPE_OF_NAME
from kernelsmith_bridge.errors import invalid
from kernelsmith_bridge.loading import load_module


# Beside python/, in the sources and where they are installed.
SUITE_FOLDER = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "tasks")


def seed_all(seed):
    seed %= 2**63
    torch.manual_seed(seed)
    random.seed(seed)
    try:
        import numpy

        numpy.random.seed(seed % 2**32)
    except ImportError:
        pass


def stream_seed(seed, stream):
    """Inputs, parameters and gradients come from different streams: from one seed alone, the first
    weights would equal the first inputs, and a kernel that mixes them up would pass."""
    return (seed * 0x9E3779B97F4A7C15 + stream * 0xD1B54A32D192ED03 + 0x2545F491) % 2**63


INPUT_STREAM, PARAMETER_STREAM, TANGENT_STREAM = 1, 2, 3


def as_input_list(inputs, file):
    if inputs is None:
        raise invalid("get_inputs() returned None", file=file)
    if isinstance(inputs, torch.Tensor):
        return [inputs]
    if isinstance(inputs, dict):
        return list(inputs.values())
    inputs = list(inputs)
    if not inputs:
        raise invalid("get_inputs() returned no inputs", file=file)
    return inputs


def cast_tensor(value, dtype):
    """A leaf of dtype `dtype` (None: as it is) that asks for a gradient as the original did."""
    if not isinstance(value, torch.Tensor):
        return value
    asks = value.requires_grad
    value = value.detach()
    if dtype is not None and value.is_floating_point():
        value = value.to(dtype)
    return value.requires_grad_(asks and value.is_floating_point())


def cast_tree(value, dtype):
    if isinstance(value, torch.Tensor):
        return cast_tensor(value, dtype)
    if isinstance(value, dict):
        return {key: cast_tree(item, dtype) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        items = [cast_tree(item, dtype) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def tensors_of(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, nn.Module):
        yield from value.parameters()
        yield from value.buffers()
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors_of(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_of(item)


def adopt_plain_tensors(model):
    """Tensors kept as plain attributes become buffers: a candidate must be given them."""
    for module in model.modules():
        for name, value in list(module.__dict__.items()):
            if isinstance(value, torch.Tensor) and not isinstance(value, nn.Parameter):
                del module.__dict__[name]
                module.register_buffer(name, value, persistent=False)


def prepare_model(model, dtype, mode, file):
    if not isinstance(model, nn.Module):
        raise invalid(f"Model must be a torch.nn.Module, it is a {type(model).__name__}", file=file)
    adopt_plain_tensors(model)
    if dtype is not None:
        model.to(dtype)
    if mode == "eval":
        model.eval()
    elif mode == "train":
        model.train()
    return model


def state_roles(model):
    known = [(tensor, "parameter", name) for name, tensor in model.named_parameters()]
    return known + [(tensor, "buffer", name) for name, tensor in model.named_buffers()]


def positional_names(function, count, skip=()):
    """Names of the first `count` positional parameters of `function`, made up where it has *args."""
    names = []
    try:
        for parameter in inspect.signature(function).parameters.values():
            if parameter.name in skip:
                continue
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                names += [f"{parameter.name}_{i}" for i in range(count - len(names))]
            elif parameter.kind is not inspect.Parameter.VAR_KEYWORD:
                names.append(parameter.name)
    except (TypeError, ValueError):
        pass
    names += [f"arg_{i}" for i in range(len(names), count)]
    return names[:count]


def require(module, name, path):
    if not hasattr(module, name):
        kind = "class" if name[0].isupper() else "function"
        raise invalid(f"the task has no {kind} {name}", file=path)
    return getattr(module, name)


def default_arguments(function):
    """The integer defaults of a function's parameters: sizes that a configuration may override."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return {}
    return {p.name: p.default for p in parameters if type(p.default) is int}


class Task:
    """request: the JSON of one request (worker.py)."""

    def __init__(self, request, stage):
        self.request = request
        self.stage = stage
        self.path = request["path"]
        self.direction = request.get("direction", "forward")
        self.configuration = request.get("configuration") or {}
        self.seed = int(request.get("seed", 0))
        self.mode = request.get("mode", "task")
        dtype = request.get("dtype", "task")
        if dtype != "task" and dtype not in DTYPE_OF_NAME:
            raise invalid(f"unknown dtype '{dtype}'")
        self.dtype = None if dtype == "task" else DTYPE_OF_NAME[dtype]
        self.name = os.path.splitext(os.path.basename(self.path.rstrip("/")))[0]

    def kwargs(self, side):
        return dict(self.configuration.get(side) or {})

    def with_scalars(self, names, values):
        """The same arguments with the configuration's own numbers where it has some (drawing.py): a task
        may write an epsilon into its code, and a candidate gets it all the same."""
        chosen = self.configuration.get("scalars") or {}
        return [chosen.get(name, value) if type(value) in (int, float) else value
                for name, value in zip(names, values)]


class ModelTask(Task):
    """KernelBench's format and any model.py: Model(*get_init_inputs()), forward(*get_inputs())."""

    def root(self):
        return os.path.dirname(os.path.abspath(self.path))

    def load(self):
        self.stage("importing")
        return load_module(self.path, self.configuration.get("sizes"))

    def size_arguments(self):
        return {}

    def build(self):
        module = self.load()
        model_class = require(module, "Model", self.path)
        get_inputs = require(module, "get_inputs", self.path)
        self.stage("creating the model")
        seed_all(stream_seed(self.seed, PARAMETER_STREAM))
        initial = module.get_init_inputs() if hasattr(module, "get_init_inputs") else []
        init_kwargs = self.kwargs("init")
        if isinstance(initial, dict):
            init_kwargs = {**initial, **init_kwargs}
            initial = []
        elif (isinstance(initial, (list, tuple)) and len(initial) == 2
              and isinstance(initial[0], (list, tuple)) and isinstance(initial[1], dict)):
            init_kwargs = {**initial[1], **init_kwargs}
            initial = initial[0]
        model = prepare_model(model_class(*(initial or []), **init_kwargs), self.dtype, self.mode, self.path)
        self.stage("creating the inputs")
        seed_all(stream_seed(self.seed, INPUT_STREAM))
        given = get_inputs(**self.kwargs("input"))
        if isinstance(given, dict):
            known = [name for name in inspect.signature(model.forward).parameters if name in given]
            names = known + [name for name in given if name not in known]
            inputs = [given[name] for name in names]
        else:
            inputs = as_input_list(given, self.path)
            names = positional_names(model.forward, len(inputs))
        inputs = [cast_tree(value, self.dtype) for value in self.with_scalars(names, inputs)]
        if not any(True for _ in tensors_of(inputs)) and not any(True for _ in model.parameters()):
            raise invalid("get_inputs() returned no tensors", file=self.path)
        as_keywords = names if isinstance(given, dict) else None

        def function(*arguments):
            model_argument, values = arguments[-1], arguments[:-1]
            if as_keywords:
                return model_argument(**dict(zip(as_keywords, values)))
            return model_argument(*values)

        call = Call(self.name, function, names + [""], inputs + [model], state_roles(model))
        self.ask_for_gradients(call)
        return call

    def ask_for_gradients(self, call):
        """Without any input that asks for one, a backward task means the gradients of all."""
        inputs = [p for p in call.placeholders if p.role == "input" and p.tensor.is_floating_point()]
        if not any(p.requires_grad for p in inputs):
            for placeholder in inputs:
                placeholder.requires_grad = True


class FunctionTask(Task):
    """robust-kbench's format: a folder whose Model calls fn(tensors..., scalars...)."""

    def root(self):
        return os.path.abspath(self.path)

    def file(self):
        wanted = os.path.join(self.path, f"func_{self.direction}.py")
        other = os.path.join(self.path, "func_forward.py")
        return wanted if os.path.exists(wanted) or not os.path.exists(other) else other

    def load(self):
        self.stage("importing")
        return load_module(self.file())

    def size_arguments(self):
        module = self.load()
        return {
            "input": default_arguments(require(module, "get_inputs", self.file())),
            "init": default_arguments(require(module, "Model", self.file()).__init__),
        }

    def build(self):
        path = self.file()
        module = self.load()
        model_class = require(module, "Model", path)
        get_inputs = require(module, "get_inputs", path)
        forward_fn = require(module, "forward_fn", path)
        self.stage("creating the model")
        seed_all(stream_seed(self.seed, PARAMETER_STREAM))
        model = prepare_model(model_class(**self.kwargs("init")), self.dtype, self.mode, path)
        self.stage("creating the inputs")
        seed_all(stream_seed(self.seed, INPUT_STREAM))
        inputs = [cast_tree(value, self.dtype) for value in as_input_list(get_inputs(**self.kwargs("input")), path)]
        self.stage("running the model")
        calls = []

        def record(*args, **kwargs):
            calls.append((args, kwargs))
            return forward_fn(*args, **kwargs)

        with torch.no_grad():
            model(*inputs, fn=record)
        if len(calls) != 1:
            raise invalid(f"Model.forward must call fn exactly once, it called it {len(calls)} times", file=path)
        args, kwargs = calls[0]
        names, values, function = bind_by_position(forward_fn, args, kwargs)
        values = self.with_scalars(names, values)
        known = state_roles(model)
        input_names = list(getattr(module, "input_names", []))
        for i, value in enumerate(inputs):
            if isinstance(value, torch.Tensor):
                known.append((value, "input", input_names[i] if i < len(input_names) else f"input_{i}"))
        call = Call(self.name, function, names, values, known)
        if not call.placeholders:
            raise invalid("fn gets no tensors", file=path)
        if self.direction == "backward" and hasattr(module, "AutogradFunction"):
            self.stage("recording the backward call")
            capture_backward(call, module.AutogradFunction, values, names, path)
        elif not any(t.requires_grad for t in tensors_of(inputs)):
            for placeholder in call.placeholders:
                placeholder.requires_grad |= placeholder.role == "input" and placeholder.tensor.is_floating_point()
        return call


def bind_by_position(function, args, kwargs):
    """Names and values in the order of the signature, as a candidate gets them (defaults that fn was not
    given stay out), and the function that takes them in that order."""
    if not kwargs:
        return positional_names(function, len(args)), list(args), function
    parameters = inspect.signature(function).parameters
    bound = inspect.signature(function).bind(*args, **kwargs)
    names, values, keywords = [], [], []
    for name, value in bound.arguments.items():
        kind = parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            names += [f"{name}_{i}" for i in range(len(value))]
            values += list(value)
            keywords += [False] * len(value)
        elif kind is inspect.Parameter.VAR_KEYWORD:
            names += list(value)
            values += list(value.values())
            keywords += [True] * len(value)
        else:
            names.append(name)
            values.append(value)
            keywords.append(name in kwargs)

    def call(*given):
        positional = [value for value, keyword in zip(given, keywords) if not keyword]
        named = {name: value for name, value, keyword in zip(names, given, keywords) if keyword}
        return function(*positional, **named)

    return names, values, call


class SuiteTask(Task):
    """Our own format, see tasks/README.md: forward(...), arguments(**sizes), quick, hidden, timing."""

    def root(self):
        return os.path.dirname(os.path.abspath(self.path))

    def load(self):
        self.stage("importing")
        # A task anywhere may import suite.py.
        sys.path.append(SUITE_FOLDER)
        module = load_module(self.path)
        require(module, "forward", self.path)
        require(module, "arguments", self.path)
        return module

    def size_arguments(self):
        return {"input": default_arguments(self.load().arguments)}

    def describe(self):
        module = self.load()
        configurations = []
        for group in ("quick", "hidden", "timing"):
            for sizes in getattr(module, group, []):
                if not isinstance(sizes, dict):
                    raise invalid(f"{group} must be a list of dicts", file=self.path)
                configurations.append({"group": group, "input": sizes})
        if not configurations:
            raise invalid("the task has no configurations: quick, hidden and timing are empty", file=self.path)
        directions = ["forward"] if getattr(module, "forward_only", False) else ["forward", "backward"]
        return {
            "configurations": configurations,
            "directions": directions,
            "dtypes": list(getattr(module, "dtypes", ["float32", "float16", "bfloat16"])),
            "summary": (module.__doc__ or "").strip(),
        }

    def build(self):
        module = self.load()
        self.stage("creating the inputs")
        seed_all(stream_seed(self.seed, INPUT_STREAM))
        given = module.arguments(**self.kwargs("input"))
        if not isinstance(given, dict) or not given:
            raise invalid("arguments() must return a dict of the arguments by name", file=self.path)
        keep = set(getattr(module, "keep_dtype", ()))
        given = dict(zip(given, self.with_scalars(given, given.values())))
        values = [cast_tree(value, None if name in keep else self.dtype) for name, value in given.items()]
        known = [(value, "parameter", name) for name, value in zip(given, values)
                 if name in getattr(module, "parameters", ()) and isinstance(value, torch.Tensor)]
        call = Call(self.name, module.forward, list(given), values, known)
        wanted = getattr(module, "gradients", None)
        for placeholder in call.placeholders:
            asks = placeholder.tensor.is_floating_point() if wanted is None else placeholder.name in wanted
            placeholder.requires_grad = asks
        backward = getattr(module, "backward", None)
        if backward is not None:
            trees = dict(zip(call.argument_names, call.trees))
            unknown = [name for name in backward.split() if name not in trees and not name.startswith("go")]
            if unknown:
                raise invalid(f"backward names an argument that forward lacks: {unknown[0]}", file=self.path)
            call.backward_trees = [(name, trees.get(name)) for name in backward.split()]
        return call


FORMATS = {"model": ModelTask, "kernelbench": ModelTask, "robust_kbench": FunctionTask, "suite": SuiteTask}


def open_task(request, stage):
    kind = request.get("format", "model")
    if kind not in FORMATS:
        raise invalid(f"unknown task format '{kind}'")
    return FORMATS[kind](request, stage)
