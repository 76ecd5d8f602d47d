"""Tasks written for a GPU run here on the CPU: every mention of a CUDA device means the CPU."""

import contextlib

import torch
from torch.overrides import TorchFunctionMode


def _is_cuda(value):
    if isinstance(value, torch.device):
        return value.type == "cuda"
    return isinstance(value, str) and (value == "cuda" or value.startswith("cuda:"))


class CpuOnly(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if function is torch.Tensor.cuda:
            return args[0]
        if function is torch.Tensor.pin_memory:
            return args[0]
        if _is_cuda(kwargs.get("device")):
            kwargs["device"] = "cpu"
        kwargs.pop("pin_memory", None)
        if any(_is_cuda(value) for value in args):
            args = tuple("cpu" if _is_cuda(value) else value for value in args)
        return function(*args, **kwargs)


@contextlib.contextmanager
def cpu_only():
    """For the whole life of a child process: nothing is restored."""
    nothing = lambda *args, **kwargs: None
    torch.cuda.synchronize = nothing
    torch.cuda.empty_cache = nothing
    torch.cuda.manual_seed = nothing
    torch.cuda.manual_seed_all = nothing
    torch.cuda.set_device = nothing
    torch.set_default_device = nothing
    # Scripted code can't be traced, compiled code need not be: both are the Python they came from.
    torch.compile = lambda model=None, **kwargs: model if model is not None else (lambda function: function)
    torch.jit.script = lambda function, *args, **kwargs: function
    with CpuOnly():
        yield
