"""SwiGLU: silu of one half of the last axis, times the other half."""

import torch.nn.functional as F
from suite import normal, sizes


def forward(x):
    gate, value = x.chunk(2, -1)
    return F.silu(gate) * value


def arguments(rows, width):
    return dict(x=normal(rows, 2 * width))


axes = "rows width"
quick = sizes(axes, (32, 128))
hidden = sizes(axes, (1, 1), (7, 33), (3, 513), (5, 100))
timing = sizes(axes, (8192, 14336))
