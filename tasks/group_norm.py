"""Group normalisation with weight and bias."""

import torch.nn.functional as F
from suite import normal, sizes


def forward(x, groups, weight, bias, eps):
    return F.group_norm(x, groups, weight, bias, eps)


def arguments(batch, channels, size, groups, eps=1e-5):
    return dict(
        x=normal(batch, channels, size, size), groups=groups,
        weight=normal(channels, mean=1.0, scale=0.5), bias=normal(channels), eps=eps,
    )


axes = "batch channels size groups"
quick = sizes(axes, (2, 8, 8, 4))
hidden = sizes(axes, (1, 1, 2, 1), (3, 6, 5, 3), (2, 10, 7, 5), (1, 4, 9, 4))
timing = sizes(axes, (16, 64, 256, 8), (32, 320, 64, 32))
