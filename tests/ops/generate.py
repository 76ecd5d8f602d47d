"""Makes the cases that ks_ops_test checks our operators by: graphs, inputs and what PyTorch computes.

    generate.py OUT_FOLDER

For each case in float32 and float64: <case>.<dtype>.json is the graph, <case>.<dtype>.safetensors has its inputs and the
value of every node. <case>.law.json is the same function decomposed further, which the field must find equal. Nothing is
done if the folder is up to date with these files and the version of torch.
"""

import hashlib
import json
import math
import operator
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = HERE.parent.parent / "python"
sys.path[:0] = [str(HERE), str(PYTHON)]


def fingerprint():
    import importlib.metadata

    digest = hashlib.sha256(importlib.metadata.version("torch").encode())
    for path in sorted([*HERE.glob("*.py"), PYTHON / "kernelsmith_bridge" / "tracing.py"]):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def meta(tensor):
    return {
        "shape": list(tensor.shape),
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "strides": list(tensor.stride()),
    }


def metas(value):
    if isinstance(value, (list, tuple)):
        return [None if item is None else meta(item) for item in value]
    return [None if value is None else meta(value)]


class Encoder:
    """The format of docs/graph_format.md, from an fx graph and the real value of each node."""

    def __init__(self, values):
        self.values = values

    def argument(self, value):
        import torch

        if isinstance(value, torch.fx.Node):
            if value.target is operator.getitem:
                return {"node": value.args[0].name, "index": value.args[1]}
            return {"node": value.name}
        if isinstance(value, (list, tuple)):
            return [self.argument(item) for item in value]
        if isinstance(value, torch.dtype):
            return {"dtype": str(value).removeprefix("torch.")}
        if isinstance(value, torch.device):
            return {"device": str(value)}
        if isinstance(value, (torch.layout, torch.memory_format)):
            return {"layout": str(value)}
        if isinstance(value, float) and not math.isfinite(value):
            return {"float": str(value)}
        return value

    def encode(self, module, name):
        import torch

        document = {"format": "kernelsmith-graph/1", "name": name, "direction": "forward", "torch": torch.__version__,
                    "placeholders": [], "constants": [], "nodes": [], "outputs": []}
        for node in module.graph.nodes:
            if node.op == "placeholder":
                entry = {"name": node.name, "role": "input", "index": len(document["placeholders"])}
                document["placeholders"].append(entry | meta(self.values[node]))
            elif node.op == "get_attr":
                document["constants"].append({"name": node.name} | meta(self.values[node]))
            elif node.op == "call_function" and node.target is not operator.getitem:
                document["nodes"].append({
                    "name": node.name, "op": str(node.target), "args": self.argument(node.args),
                    "kwargs": {key: self.argument(value) for key, value in node.kwargs.items()},
                    "outputs": metas(self.values[node])})
            elif node.op == "output":
                leaves = [leaf for leaf in torch.utils._pytree.tree_leaves(node.args[0]) if leaf is not None]
                document["outputs"] = [{"role": "output", "index": i, "value": self.argument(leaf)}
                                       for i, leaf in enumerate(leaves)]
        return document


def drop_final_copies(module):
    """What functionalisation leaves: copies into changed inputs."""
    import torch

    for node in list(module.graph.nodes):
        if node.target is torch.ops.aten.copy_.default and node.args[0].op == "placeholder":
            node.replace_all_uses_with(node.args[1])
            module.graph.erase_node(node)
    module.graph.eliminate_dead_code()
    module.recompile()


def node_values(module, inputs):
    import torch

    class Recorder(torch.fx.Interpreter):
        values = {}

        def run_node(self, node):
            result = super().run_node(node)
            # Memory left unset has no value to compare; ours is 0.
            if "empty" in str(node.target):
                result = torch.zeros_like(result)
            self.values[node] = result
            return result

    recorder = Recorder(module)
    recorder.values = {}
    with torch.no_grad():
        recorder.run(*inputs)
    return recorder.values


def write_case(folder, name, dtype_name, module, inputs):
    import torch
    from kernelsmith_bridge.safetensors_file import save_file

    values = node_values(module, [value.clone() for value in inputs])
    document = Encoder(values).encode(module, name)
    tensors = {}
    for node, value in values.items():
        if node.op in ("placeholder", "get_attr"):
            tensors[node.name] = value
        elif node.op == "call_function" and node.target is not operator.getitem and "empty" not in str(node.target):
            items = value if isinstance(value, (list, tuple)) else [value]
            for i, item in enumerate(items):
                if isinstance(item, torch.Tensor):
                    tensors[f"node.{node.name}.{i}"] = item
    stem = folder / f"{name}.{dtype_name}"
    stem.with_name(stem.name + ".json").write_text(json.dumps(document))
    copies = {key: value.detach().contiguous().clone() for key, value in tensors.items()}
    save_file(copies, str(stem) + ".safetensors")


def as_dtype(value, dtype):
    return value.to(dtype) if value.is_floating_point() else value.clone()


def joint(function, count):
    """The gradients of the floating inputs, for random gradients of the outputs: inputs first, then tangents."""
    import torch

    def run(*values):
        inputs = [v.detach().requires_grad_() if v.is_floating_point() else v for v in values[:count]]
        # Copies, as a leaf may not be changed in place.
        outputs = torch.utils._pytree.tree_leaves(function(*[v.clone() for v in inputs]))
        outputs = [o for o in outputs if isinstance(o, torch.Tensor) and o.requires_grad]
        gradients = torch.autograd.grad(outputs, [v for v in inputs if v.is_floating_point()], values[count:],
                                        allow_unused=True)
        return [g for g in gradients if g is not None]

    return run


def differentiable_outputs(function, inputs):
    import torch

    leaves = [v.detach().clone().requires_grad_() if v.is_floating_point() else v for v in inputs]
    outputs = torch.utils._pytree.tree_leaves(function(*[v.clone() for v in leaves]))
    return [o for o in outputs if isinstance(o, torch.Tensor) and o.requires_grad]


def generate(folder):
    import torch
    from kernelsmith_bridge.tracing import _two_passes, plain_operators
    from torch.fx.experimental.proxy_tensor import make_fx

    import models
    import operators

    torch.manual_seed(0)
    torch.set_num_threads(1)
    # The rest of PyTorch's table leads to prims, which are not ATen.
    deep_table = {op: function for op, function in torch._decomp.decomposition_table.items()
                  if function.__module__ == "torch._decomp.decompositions"}

    def flat(function):
        return lambda *values: [leaf for leaf in torch.utils._pytree.tree_leaves(function(*values))
                                if isinstance(leaf, torch.Tensor)]

    def add_model(name, function, inputs, with_law):
        for dtype in (torch.float32, torch.float64):
            typed = [as_dtype(value, dtype) for value in inputs]
            module = _two_passes(function, [v.clone() for v in typed], lambda file: False)
            drop_final_copies(module)
            short = str(dtype).removeprefix("torch.")
            write_case(folder, name, short, module, typed)
            if with_law and dtype == torch.float64:
                with plain_operators():
                    functional = torch.func.functionalize(module, remove="mutations")
                    deep = make_fx(functional, decomposition_table=deep_table, tracing_mode="fake",
                                   _allow_non_fake_inputs=True)(*typed)
                drop_final_copies(deep)
                write_case(folder, name, "law", deep, typed)

    for name, function, inputs in models.all_models():
        add_model(name, flat(function), inputs, True)
        if name in models.FORWARD_ONLY:
            continue
        doubles = [as_dtype(value, torch.float64) for value in inputs]
        outputs = differentiable_outputs(function, doubles)
        if outputs:
            tangents = [torch.randn(o.shape, dtype=torch.float64) for o in outputs]
            add_model(name + "_backward", joint(function, len(inputs)), [*inputs, *tangents], True)
    for name, function, inputs in operators.all_cases():
        for dtype in (torch.float32, torch.float64):
            typed = [as_dtype(value, dtype) for value in inputs]
            # Strides survive the change of type: some inputs are transposed or expanded on purpose.
            with plain_operators():
                module = make_fx(flat(function), tracing_mode="real")(*typed)
                drop_final_copies(module)
                write_case(folder, name, str(dtype).removeprefix("torch."), module, typed)


def main():
    folder = pathlib.Path(sys.argv[1])
    stamp = folder / "fingerprint"
    wanted = fingerprint()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    generate(folder)
    stamp.write_text(wanted)
    print(f"{len(list(folder.glob('*.json')))} graphs in {folder}")


if __name__ == "__main__":
    main()
