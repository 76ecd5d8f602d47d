"""Batched matrix product."""

import torch
from suite import normal, sizes


def forward(a, b):
    return torch.bmm(a, b)


def arguments(batch, m, n, k):
    return dict(a=normal(batch, m, k), b=normal(batch, k, n, scale=k**-0.5))


axes = "batch m n k"
quick = sizes(axes, (4, 16, 16, 16))
hidden = sizes(axes, (1, 1, 1, 1), (3, 17, 5, 33), (5, 7, 65, 9))
timing = sizes(axes, (128, 512, 1024, 2048))
