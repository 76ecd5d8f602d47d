"""Runs a task in PyTorch on real values: its own dtype, and float64 as the yardstick."""

import os

import torch
from kernelsmith_bridge.safetensors_file import load_file, save_file
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils import _pytree as pytree

from kernelsmith_bridge.call import dtype_name
from kernelsmith_bridge.encode import tensor_meta
from kernelsmith_bridge.errors import invalid, unsupported
from kernelsmith_bridge.formats import TANGENT_STREAM, seed_all, stream_seed
from kernelsmith_bridge.tracing import Flattened, run_with_gradients

_NARROW = (torch.float16, torch.bfloat16, torch.float32)


class InDouble(TorchDispatchMode):
    """Casts to narrower floats, also those inside the task's code (`x.float()`), stay in float64:
    the result is what the formula means, free of any rounding the task does on its way."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        widen = lambda v: torch.float64 if v in _NARROW else v
        is_dtype = lambda v: isinstance(v, torch.dtype)
        args, kwargs = pytree.tree_map_only(is_dtype, widen, (args, kwargs or {}))
        return function(*args, **kwargs)


class RandomSpy(TorchDispatchMode):
    """Refuses operators that draw random numbers while the reference runs. Some only might (attention
    with dropout 0): what counts is whether the generator moved."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if torch.Tag.nondeterministic_seeded not in getattr(function, "tags", ()):
            return function(*args, **(kwargs or {}))
        before = torch.get_rng_state()
        result = function(*args, **(kwargs or {}))
        if not torch.equal(before, torch.get_rng_state()):
            raise unsupported(f"unsupported: random: {function}: a random result can't be checked")
        return result


def _same(a, b):
    """Bit for bit, also NaN."""
    return torch.equal(torch.nan_to_num(a), torch.nan_to_num(b)) if a.is_floating_point() else torch.equal(a, b)


def _dense(tensor):
    return tensor.detach().clone(memory_format=torch.contiguous_format)


def copy_like(tensor, data):
    """`data` with the strides of `tensor`."""
    if tensor.is_contiguous():
        return data.to(tensor.dtype).clone()
    result = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype)
    return result.copy_(data)


def _clone(tensor):
    """Keeps strides, also overlapping ones (expand), which clone() would make dense."""
    tensor = tensor.detach()
    if 0 in tensor.stride() and tensor.numel() > 1:
        return torch.as_strided(tensor.clone(), tensor.shape, tensor.clone().stride())
    return tensor.clone()


def _run(call, tensors, direction, tangents, make_tangents):
    """{name: tensor} of everything that counts, and the tangents used."""
    result = {}
    if direction == "forward":
        with torch.no_grad():
            flat = Flattened(call.run(tensors))
        for i, tensor in enumerate(flat.tensors):
            result[f"output.{i}"] = tensor
    else:
        _, _, gradients, tangents = run_with_gradients(call, tensors, tangents, make_tangents)
        asking = [p for p in call.placeholders if p.requires_grad]
        for placeholder, gradient in zip(asking, gradients):
            if gradient is not None:
                result[f"gradient.{placeholder.name}"] = gradient
    return result, tangents


def evaluate(call, request, folder, stem, stage):
    """Writes `<stem>.safetensors` (values of the placeholders and PyTorch's results) and
    `<stem>.f64.safetensors` (the results in float64)."""
    direction = request.get("direction", "forward")
    values = [_clone(p.tensor) for p in call.placeholders]
    given = load_file(request["values"]) if request.get("values") else {}
    for i, placeholder in enumerate(call.placeholders):
        if placeholder.name in given:
            data = given[placeholder.name]
            if tuple(data.shape) != tuple(values[i].shape):
                raise invalid(f"value of {placeholder.name} has shape {list(data.shape)}, "
                              f"expected {list(values[i].shape)}")
            values[i] = copy_like(values[i], data)
    seed = int(request.get("seed", 0))

    def make_tangents(outputs):
        seed_all(stream_seed(seed, TANGENT_STREAM))
        tangents = []
        with _disable_current_modes():
            for i, output in enumerate(outputs):
                name = "grad_output" if len(outputs) == 1 else f"grad_output_{i}"
                drawn = torch.randn(output.shape, dtype=torch.float32).to(output.dtype)
                tangents.append(given[name].to(output.dtype) if name in given else drawn)
        return tangents

    stage("running the reference")
    tensors = {p.name: _dense(v) for p, v in zip(call.placeholders, values)}
    expected, tangents, changed = run_once(call, values, direction, None, make_tangents)
    if not expected:
        raise invalid("the task returns no tensor and changes none")
    stage("running the reference in float64")
    wide = [v.double() if v.is_floating_point() else v.clone() for v in values]
    wide_tangents = None if tangents is None else [t.double() if t.is_floating_point() else t for t in tangents]
    previous = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with InDouble():
            exact, _, _ = run_once(call, wide, direction, wide_tangents, None)
    finally:
        torch.set_default_dtype(previous)
    names = [] if tangents is None else ["grad_output"] if len(tangents) == 1 else [
        f"grad_output_{i}" for i in range(len(tangents))]
    for name, tangent in zip(names, tangents or []):
        tensors[name] = _dense(tangent)
    if direction == "backward" and call.saved:
        for (name, _), tensor in zip(call.saved, call.recompute_saved(values)):
            tensors[name] = _dense(tensor)
    stage("writing the tensors")
    results = {}
    for name, tensor in expected.items():
        dtype_name(tensor.dtype)
        tensors[name] = _dense(tensor)
        results[name] = tensor_meta(tensor)
    save_file(tensors, os.path.join(folder, f"{stem}.safetensors"))
    save_file({name: _dense(t) for name, t in exact.items()}, os.path.join(folder, f"{stem}.f64.safetensors"))
    return {"results": results, "mutated": changed}


def run_once(call, values, direction, tangents, make_tangents):
    """Runs on copies, so `values` stay; changed copies are results too."""
    tensors = [_clone(v) for v in values]
    versions = [t._version for t in tensors]
    with RandomSpy():
        result, tangents = _run(call, tensors, direction, tangents, make_tangents)
    changed = []
    if direction == "backward":
        # What the forward pass changes is no business of a backward kernel.
        return result, tangents, changed
    for placeholder, tensor, version, value in zip(call.placeholders, tensors, versions, values):
        # native_batch_norm changes its running statistics without a new version.
        if tensor._version != version or not _same(tensor, value):
            changed.append(placeholder.name)
            result[f"mutated.{placeholder.name}"] = tensor
    return result, tangents, changed
