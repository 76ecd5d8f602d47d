"""Logarithm of the softmax over the last axis."""

import torch
from suite import normal, sizes

backward = "go x"


def forward(x):
    return torch.log_softmax(x, -1)


def arguments(rows, width):
    return dict(x=normal(rows, width, scale=2.0))


axes = "rows width"
quick = sizes(axes, (32, 256))
hidden = sizes(axes, (1, 2), (7, 33), (3, 1025), (5, 100))
timing = sizes(axes, (4096, 4096), (2048, 128256))
