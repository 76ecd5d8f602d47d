"""GELU with the error function."""

import torch.nn.functional as F
from suite import normal, sizes

backward = "go x"


def forward(x):
    return F.gelu(x)


def arguments(rows, width):
    return dict(x=normal(rows, width))


axes = "rows width"
quick = sizes(axes, (32, 256))
hidden = sizes(axes, (1, 1), (7, 33), (3, 1025), (5, 100))
timing = sizes(axes, (8192, 16384))
