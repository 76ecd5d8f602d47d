"""Writes the operators that PyTorch's eager mode runs for each of the 200 tasks of
h100_torch_baselines.json: usage operators.py BASELINES.json > operators.json.

The published data has names and sizes, no code. What the names say is put together again here, so
where a name leaves something open (which dimension a sum runs over, a bias) the task may differ a
little from the one that was timed: its big tensors do not.
"""

import json
import re
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch.fx.experimental.proxy_tensor import make_fx

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
from kernelsmith_bridge.tracing import eager_operators  # noqa: E402

KEYS = ["maxpool_kernel_size", "pool_kernel_size", "kernel_size_pool", "maxpool_stride", "pool_stride", "pool_padding",
        "kernel_size_h", "kernel_size_w", "kernel_size", "output_padding", "padding_h", "padding_w", "padding",
        "stride_h", "stride_w", "stride", "dilation_h", "dilation_w", "dilation", "num_groups", "groups", "in_channels",
        "out_channels", "in_features", "out_features", "hidden_size", "input_size", "output_size", "batch_size",
        "num_features", "num_classes", "input_shape", "input_length", "sequence_length", "length", "depth_in",
        "height_in", "width_in", "depth", "height", "width", "channels", "dim1", "dim2", "dim3", "dim",
        "bias", "eps", "N", "M", "K", "L", "D", "H", "W", "m", "k", "n", "b", "i", "j", "l"]


def sizes(text):
    """The integers of "out_channels_64_kernel_size_3": the first mention of a key counts."""
    found = {}
    for key in KEYS:
        match = re.search(rf"(?:^|_)(?<!sm_){key}_(-?\d+)(?=_|$)", text)
        if match:
            found[key] = int(match.group(1))
    return found


class Task:
    """The values of a task: tensors are made by name, once, as the graph's inputs."""

    def __init__(self):
        self.tensors = []

    def tensor(self, *shape, dtype=torch.float32):
        self.tensors.append(torch.empty(shape, dtype=dtype))
        return len(self.tensors) - 1


def extents(s, rank):
    depth = s.get("depth", s.get("depth_in", s.get("D", 16)))
    height = s.get("height", s.get("height_in", s.get("H", 32)))
    width = s.get("width", s.get("width_in", s.get("W", 32)))
    length = s.get("length", 128)
    return {1: [length], 2: [height, width], 3: [depth, height, width]}[rank]


# Kernels of more than one size, which the data leaves out.
KERNELS = {"1:56": (5, 7), "1:58": (3, 5, 7), "1:60": (3, 5, 7), "1:62": (5, 9), "1:65": (3, 7), "1:66": (3, 5, 7),
           "1:68": (3, 5, 5), "1:69": (3, 5), "1:72": (3, 5, 7), "1:75": (3, 5), "1:78": (3, 7), "1:80": (5, 9),
           "1:83": (3, 1), "1:85": (3, 5), "2:3": (3, 3, 3), "2:8": (3, 3, 3)}
OPTIONS = {"1:72": dict(stride=2, padding=(1, 2, 3), output_padding=1, groups=4),
           "1:75": dict(stride=(2, 3), padding=(1, 2), dilation=(2, 1), groups=4), "1:78": dict(padding=(1, 3)),
           "1:80": dict(padding=(2, 4), dilation=(2, 3)), "2:3": dict(stride=2, padding=1, output_padding=1)}


def convolution(task, number, s, rank, transposed, bias):
    channels = s.get("in_channels", s.get("channels", 3))
    out = s.get("out_channels", channels)
    kernel = KERNELS.get(number, (s.get("kernel_size", 3),) * rank)
    options = {key: s[key] for key in ("stride", "padding", "dilation", "groups") if key in s}
    if transposed and "output_padding" in s:
        options["output_padding"] = s["output_padding"]
    if number.startswith("2:"):
        options.pop("groups", None)
        if number in ("2:11", "2:19"):
            options["groups"] = 8
    options.update(OPTIONS.get(number, {}))
    groups = options.get("groups", 1)
    shape = (channels, out // groups, *kernel) if transposed else (out, channels // groups, *kernel)
    x = task.tensor(s.get("batch_size", 16), channels, *extents(s, rank))
    w = task.tensor(*shape)
    b = task.tensor(out) if bias else None
    function = getattr(F, f"conv_transpose{rank}d" if transposed else f"conv{rank}d")
    return lambda t: function(t[x], t[w], None if b is None else t[b], **options)


# -- level 1 --------------------------------------------------------------------------------------

POINTWISE = {19: F.relu, 20: F.leaky_relu, 21: torch.sigmoid, 22: torch.tanh, 23: lambda x: F.softmax(x, 1),
             24: lambda x: F.log_softmax(x, 1), 25: lambda x: x * torch.sigmoid(x), 26: F.gelu, 27: F.selu,
             28: F.hardsigmoid, 29: F.softplus, 30: lambda x: x / (1 + torch.abs(x)), 31: F.elu, 32: F.hardtanh,
             38: lambda x: x / torch.sum(torch.abs(x), dim=1, keepdim=True),
             39: lambda x: x / torch.norm(x, p=2, dim=1, keepdim=True),
             47: lambda x: torch.sum(x, 1, keepdim=True), 48: lambda x: torch.mean(x, 1),
             49: lambda x: torch.max(x, 1)[0], 50: lambda x: torch.prod(x, 1), 51: lambda x: torch.argmax(x, 1),
             52: lambda x: torch.argmin(x, 1), 53: lambda x: torch.min(x, 1)[0],
             88: lambda x: 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * torch.pow(x, 3)))),
             89: lambda x: torch.cumsum(x, 1), 90: lambda x: torch.cumprod(x, 1),
             91: lambda x: torch.cumsum(x.flip(1), 1).flip(1),
             92: lambda x: torch.cumsum(torch.cat((torch.zeros_like(x.select(1, 0).unsqueeze(1)), x), 1)[:-1], 1)}
LOSSES = {94: lambda a, b: torch.mean((a - b) ** 2), 96: F.smooth_l1_loss,
          97: lambda a, b: torch.mean(1 - F.cosine_similarity(a, b, dim=1)),
          98: lambda a, b: F.kl_div(torch.log(a), b, reduction="batchmean"),
          100: lambda a, b: torch.mean(torch.clamp(1 - a * b, min=0))}


def matmul(task, number, s):
    shapes = {1: ((2048, 2048), (2048, 2048)), 2: ((1024, 4096), (4096, 2048)), 3: ((128, 128, 256), (128, 256, 512)),
              4: ((256, 131072), (131072, 1)), 6: ((256, 131072), (131072, 256)), 7: ((16384, 32), (32, 16384)),
              8: ((8205, 2949), (2949, 5921)), 9: ((16384, 16), (16, 16384)), 10: ((16, 1024, 2048), (2048, 768)),
              13: ((4096, 4096), (4096, 4096)), 14: ((4096, 4096), (4096, 4096)), 15: ((4096, 4096), (4096, 4096)),
              16: ((4096, 1024), (4096, 2048)), 17: ((1024, 4096), (2048, 4096)), 18: ((4096, 1024), (2048, 4096))}
    if number == 11:
        a, b = task.tensor(*[s.get(k, 16) for k in "bij"], s.get("l", 16)), task.tensor(s.get("l", 16), s.get("k", 16))
        return lambda t: torch.einsum("bijl,lk->bijk", t[a], t[b])
    if number == 12:
        a, b = task.tensor(s["N"]) if s["N"] == s["M"] else task.tensor(s["N"]), task.tensor(s["N"], s["M"])
        return lambda t: torch.diag(t[a]) @ t[b]
    left, right = shapes[number]
    a, b = task.tensor(*left), task.tensor(*right)
    if number == 14:
        return lambda t: torch.triu(t[a] @ t[b])
    if number == 15:
        return lambda t: torch.tril(t[a] @ t[b])
    turn_a, turn_b = number in (16, 18), number in (17, 18)
    return lambda t: (t[a].T if turn_a else t[a]) @ (t[b].T if turn_b else t[b])


def level_1(task, number, s):
    key = f"1:{number}"
    if number <= 4 or 6 <= number <= 18:
        return matmul(task, number, s)
    if number == 5:
        x = task.tensor(s["M"], s["N"])
        return lambda t: t[x] * 3.14
    if number in POINTWISE:
        rest = {True: [s.get("dim1"), s.get("dim2")], False: [s.get("input_shape") or s.get("dim")]}["dim1" in s]
        if "input_shape" in s:
            rest = [s["input_shape"]]
        x = task.tensor(s["batch_size"], *rest)
        return lambda t: POINTWISE[number](t[x])
    if 33 <= number <= 40 and number not in (38, 39):
        x = task.tensor(16, 64, 256, 256)
        w, b = task.tensor(64), task.tensor(64)
        m, v = task.tensor(64), task.tensor(64)
        lw, lb = (task.tensor(64, 256, 256), task.tensor(64, 256, 256)) if number == 40 else (None, None)
        return {33: lambda t: F.batch_norm(t[x], t[m], t[v], t[w], t[b], True),
                34: lambda t: F.instance_norm(t[x]),
                35: lambda t: F.group_norm(t[x], 8, t[w], t[b]),
                36: lambda t: t[x] / torch.sqrt(torch.mean(t[x] ** 2, dim=1, keepdim=True) + 1e-5),
                37: lambda t: t[x] / torch.norm(t[x], p="fro"),
                40: lambda t: F.layer_norm(t[x], (64, 256, 256), t[lw], t[lb])}[number]
    if 41 <= number <= 46:
        shape, function = {41: ((16, 64, 128), lambda x: F.max_pool1d(x, 4, 2, 2, 3)),
                           42: ((16, 32, 128, 128), lambda x: F.max_pool2d(x, 2, 2, 1, 3)),
                           43: ((16, 32, 64, 64, 64), lambda x: F.max_pool3d(x, 3, 2, 1, 3)),
                           44: ((16, 32, 128), lambda x: F.avg_pool1d(x, 4, 2, 1)),
                           45: ((16, 64, 256, 256), lambda x: F.avg_pool2d(x, 3)),
                           46: ((16, 32, 64, 64, 64), lambda x: F.avg_pool3d(x, 3, 2, 1))}[number]
        x = task.tensor(*shape)
        return lambda t: function(t[x])
    if number == 93:
        x, mask = task.tensor(128, 4000), task.tensor(128, 4000, dtype=torch.bool)
        return lambda t: torch.cumsum(t[x] * t[mask], 1)
    if number == 95:
        x, y = task.tensor(4096, 10), task.tensor(4096, dtype=torch.int64)
        return lambda t: F.cross_entropy(t[x], t[y])
    if number == 99:
        a, b, c = (task.tensor(128, 4096) for _ in range(3))
        return lambda t: F.triplet_margin_loss(t[a], t[b], t[c])
    if number in LOSSES:
        a, b = (task.tensor(128, s["input_shape"]) for _ in range(2))
        return lambda t: LOSSES[number](t[a], t[b])
    name = task.name
    rank = next(r for r in (1, 2, 3) if f"{r}D" in name)
    if "depthwise" in name:
        c = s["in_channels"]
        kernel = KERNELS.get(key, (s.get("kernel_size", 3),) * 2)
        x, w = task.tensor(16, c, *extents(s, 2)), task.tensor(c, 1, *kernel)
        if "separable" not in name:
            return lambda t: F.conv2d(t[x], t[w], groups=c)
        p = task.tensor(s["out_channels"], c, 1, 1)
        return lambda t: F.conv2d(F.conv2d(t[x], t[w], groups=c), t[p])
    if "pointwise" in name:
        s["kernel_size"] = 1
    return convolution(task, key, s, rank, "transposed" in name, False)


# -- level 2: a first operator, then what the name lists ------------------------------------------

def norm_of(token, y, t, task, s):
    channels = y.shape[1]
    if token == "BatchNorm":
        return F.batch_norm(y, t["m"], t["v"], t["w"], t["b"], True)
    if token == "GroupNorm":
        groups = s.get("num_groups", s.get("groups", 8))
        return F.group_norm(y, groups if channels % groups == 0 else 1, t["w"], t["b"])
    if token == "InstanceNorm":
        return F.instance_norm(y if y.dim() > 2 else y[:, None, None]).reshape(y.shape)
    return F.layer_norm(y, (y.shape[-1],))


def step(token, y, t, s):
    bias = t["c"].view(-1, *([1] * (y.dim() - 2))) if y.dim() > 1 else t["c"]
    pool = s.get("maxpool_kernel_size", s.get("pool_kernel_size", s.get("kernel_size_pool", 2)))
    rank = y.dim() - 2
    if token in ("ReLU", "Tanh", "Sigmoid", "GELU", "Mish", "LeakyReLU", "HardSwish", "Hardtanh", "Activation"):
        return {"ReLU": F.relu, "Tanh": torch.tanh, "Sigmoid": torch.sigmoid, "GELU": F.gelu, "Mish": F.mish,
                "LeakyReLU": F.leaky_relu, "HardSwish": F.hardswish, "Hardtanh": F.hardtanh,
                "Activation": lambda v: torch.multiply(torch.tanh(F.softplus(v)), v)}[token](y)
    if token == "Swish":
        return torch.sigmoid(y) * y
    if token == "Clamp":
        return torch.clamp(y, 0, 1)
    if token in ("BiasAdd", "Add"):
        return y + bias
    if token in ("Scaling", "Scale", "Multiply"):
        return y * 2.0
    if token == "Divide":
        return y / 2.0
    if token == "Subtract":
        return y - bias
    if token == "ResidualAdd":
        return y + t["residual"](y)
    if token == "Softmax":
        return F.softmax(y, 1)
    if token == "LogSumExp":
        return torch.logsumexp(y, 1, keepdim=True)
    if token == "Sum":
        return torch.sum(y, 1, keepdim=True)
    if token == "Mean":
        return torch.mean(y, 1, keepdim=True)
    if token in ("Max", "Min"):
        return (torch.max if token == "Max" else torch.min)(y, 1, keepdim=True)[0]
    if token == "GlobalAvgPool":
        return torch.mean(y, list(range(2, y.dim())), keepdim=True) if rank > 0 else torch.mean(y, 1, keepdim=True)
    if token in ("MaxPool", "AvgPool"):
        kind = "max" if token == "MaxPool" else "avg"
        if rank < 1:
            return getattr(F, f"{kind}_pool1d")(y[:, None], pool)[:, 0] if y.shape[-1] >= pool else y
        return getattr(F, f"{kind}_pool{rank}d")(y, pool)
    if token == "Dropout":
        return F.dropout(y, 0.2, True)
    raise KeyError(token)


NORMS = ("BatchNorm", "GroupNorm", "InstanceNorm", "LayerNorm")


def level_2(task, number, s):
    tokens = task.name.split("_")[1:]
    first, rest = tokens[0], tokens[1:]
    if first in ("Matmul", "Gemm", "BMM"):
        inputs = s.get("in_features", s.get("input_size"))
        outputs = s.get("out_features", s.get("hidden_size", s.get("output_size", 1024)))
        x, w, b = task.tensor(s.get("batch_size", 128), inputs), task.tensor(outputs, inputs), task.tensor(outputs)
        head = lambda t: F.linear(t[x], t[w], t[b])  # noqa: E731
        channels = outputs
    else:
        rank = int(first[-2])
        head = convolution(task, f"2:{number}", s, rank, "Transpose" in first, True)
        channels = s["out_channels"]
    names = {key: task.tensor(channels) for key in "mvwbc"}

    def run(t):
        values = {key: t[index] for key, index in names.items()}
        y = head(t)
        values["residual"] = lambda v: y if y.shape == v.shape else v
        for token in rest:
            if token in NORMS:
                y2 = y
                if y2.shape[1] != channels:
                    values = {**values, **{key: torch.ones(y2.shape[1]) for key in "mvwb"}}
                y = norm_of(token, y2, values, task, s)
            else:
                if values["c"].shape[0] != y.shape[1] and y.dim() > 1:
                    values = {**values, "c": values["c"][:1]}
                y = step(token, y, values, s)
        return y
    return run


def main():
    rows = json.load(open(sys.argv[1], encoding="utf-8"))
    result = []
    for row in rows:
        level, number = int(row["task"].split("/")[1][-1]), int(row["task"].rsplit("_", 1)[1])
        task = Task()
        task.name = row["name"]
        try:
            run = (level_1 if level == 1 else level_2)(task, number, sizes(row["eager"]["configs"][0]))

            def function(*tensors):
                with torch.no_grad():
                    return run(tensors)
            operators = eager_operators(make_fx(function, tracing_mode="fake", _allow_non_fake_inputs=True)(
                *task.tensors))
        except Exception as error:  # noqa: BLE001: every row is tried, and the ones that fail are named
            print(f"{row['task']} {row['name']}: {type(error).__name__}: {error}", file=sys.stderr)
            continue
        for entry in operators:
            for tensor in entry["inputs"] + entry["outputs"]:
                del tensor["strides"]
        result.append({"task": f"{level}/{number}", "name": row["name"], "h100_ms": row["eager"]["median_ms"],
                       "operators": operators})
    print("[\n" + ",\n".join(json.dumps(each, separators=(",", ":")) for each in result) + "\n]")


main()
