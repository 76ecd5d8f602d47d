"""Imports the module.py of every folder and checks its wiring: no GPU, so PyTorch stands in for the kernels.

    build/kernelsmith translate --suite --no-verify -o FOLDER [--only NAME]
    python tests/translate/modules.py FOLDER

What the loader hands out has the parameters that the .cu file declares, by position; it computes the task's own
forward, and gradients by autograd from what it is given. A gradient that reaches the wrong input, an argument out of
place or a result that is lost shows as a difference to PyTorch without the module.
"""

import importlib.util
import pathlib
import re
import sys
import types

import torch
import torch.utils.cpp_extension

TASKS = pathlib.Path(__file__).resolve().parents[2] / "tasks"


def load_file(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tensors(value):
    return list(value) if isinstance(value, (tuple, list)) else [] if value is None else [value]


class Stub:
    """The compiled functions of one task."""

    def __init__(self, task, given):
        self.task, self.names, self.given = task, list(given), given
        floats = [name for name, value in given.items() if isinstance(value, torch.Tensor) and value.is_floating_point()]
        self.gradients = [name for name in getattr(task, "gradients", floats) if name in floats]

    def parameters(self, source, function):
        text = pathlib.Path(source).read_text()
        assert f'm.def("{function}", &{function})' in text, f"{source} does not export {function}"
        declared = re.search(rf"^[\w:<>]+ {function}\((.*?)\) {{", text, re.M | re.S).group(1)
        return [item.split()[-1] for item in re.split(r",\s+", declared)]

    def load(self, name, sources):
        function = pathlib.Path(sources[0]).stem
        parameters = self.parameters(sources[0], function)
        return types.SimpleNamespace(**{function: lambda *arguments: getattr(self, function)(parameters, arguments)})

    def forward(self, parameters, arguments):
        assert parameters == self.names and len(arguments) == len(parameters), (parameters, self.names)
        result = self.task.forward(*arguments)
        return list(result) if isinstance(result, (tuple, list)) else result  # as pybind11 gives a vector

    def backward(self, parameters, arguments):
        assert len(arguments) == len(parameters), parameters
        by_name = dict(zip(parameters, arguments))
        inputs = {name: by_name.get(name, value) for name, value in self.given.items()}
        for name, value in inputs.items():
            if isinstance(value, torch.Tensor):
                inputs[name] = value.detach().clone().requires_grad_(name in self.gradients)
        grads = [value for name, value in by_name.items() if name not in self.names]
        with torch.enable_grad():
            results = [each for each in tensors(self.task.forward(**inputs)) if each.requires_grad]
        found = torch.autograd.grad(results, [inputs[name] for name in self.gradients], grads)
        return found[0] if len(found) == 1 else list(found)


def check(folder):
    task = load_file(folder.name, TASKS / (folder.name + ".py"))
    torch.manual_seed(7)
    given = task.arguments(**task.quick[0])
    has_backward = (folder / "backward.cu").exists() and (folder / "forward.cu").exists()
    stub = Stub(task, given)

    def run(function, gradients):
        inputs = {}
        for name, value in given.items():
            tensor = isinstance(value, torch.Tensor)
            inputs[name] = value.detach().clone().requires_grad_(gradients and name in stub.gradients) if tensor else value
        results = tensors(function(*inputs.values()))
        if gradients:
            torch.manual_seed(8)
            differentiable = [each for each in results if each.requires_grad]
            assert differentiable, "no result has gradients"
            torch.autograd.backward(differentiable, [torch.randn_like(each) for each in differentiable])
        state = {name: value for name, value in inputs.items() if isinstance(value, torch.Tensor)}
        found = {name: value.grad for name, value in state.items() if value.grad is not None}
        return [each.detach() for each in results], found, {name: value.detach() for name, value in state.items()}

    torch.utils.cpp_extension.load = stub.load
    module = load_file(folder.name + "_module", folder / "module.py")
    results, gradients, state = run(module.Module(), has_backward)
    expected, expected_gradients, expected_state = run(task.forward, has_backward)
    assert len(results) == len(expected), "another number of results"
    assert gradients.keys() == expected_gradients.keys(), (sorted(gradients), sorted(expected_gradients))
    pairs = list(zip(results, expected))
    pairs += [(gradients[name], expected_gradients[name]) for name in gradients]
    pairs += [(state[name], expected_state[name]) for name in state]  # changed in place
    for ours, theirs in pairs:
        torch.testing.assert_close(ours, theirs, equal_nan=True)
    return len(gradients)


def main():
    folders = sorted(path.parent for path in pathlib.Path(sys.argv[1]).glob("*/module.py"))
    sys.path.insert(0, str(TASKS))
    wrong = 0
    for folder in folders:
        try:
            print(f"{folder.name}: {check(folder)} gradients")
        except Exception as error:  # noqa: BLE001: the next module is checked whatever this one does
            wrong += 1
            print(f"{folder.name}: {type(error).__name__}: {error}")
    print(f"{len(folders) - wrong} of {len(folders)} modules are wired as they must")
    return 1 if wrong or not folders else 0


if __name__ == "__main__":
    sys.exit(main())
