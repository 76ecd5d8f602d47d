"""Symmetric quantisation of each row to int8, and the scales."""

import torch
from suite import normal, sizes

forward_only = True


def forward(x):
    scale = x.abs().amax(-1, keepdim=True) / 127
    return torch.round(x / scale).clamp(-127, 127).to(torch.int8), scale


def arguments(rows, width):
    return dict(x=normal(rows, width))


axes = "rows width"
quick = sizes(axes, (16, 256))
hidden = sizes(axes, (1, 1), (7, 33), (3, 1025), (5, 100))
timing = sizes(axes, (8192, 8192))
