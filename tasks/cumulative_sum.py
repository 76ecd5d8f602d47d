"""Cumulative sum along the last axis."""

import torch
from suite import normal, sizes

backward = "go"


def forward(x):
    return torch.cumsum(x, -1)


def arguments(rows, width):
    return dict(x=normal(rows, width))


axes = "rows width"
quick = sizes(axes, (16, 256))
hidden = sizes(axes, (1, 1), (7, 33), (3, 1025), (5, 100))
timing = sizes(axes, (128, 131072), (4096, 4096))
