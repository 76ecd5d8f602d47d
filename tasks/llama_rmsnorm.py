"""Root-mean-square normalisation in float32, as Llama does it."""

import torch
from suite import normal, sizes

backward = "go x weight eps"


def forward(x, weight, eps):
    wide = x.float()
    scale = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)
    return (wide * scale).type_as(x) * weight


def arguments(batch, tokens, width, eps=1e-5):
    return dict(x=normal(batch, tokens, width), weight=normal(width, mean=1.0, scale=0.1), eps=eps)


axes = "batch tokens width"
quick = sizes(axes, (2, 8, 256))
hidden = sizes(axes, (1, 1, 1), (1, 3, 33), (3, 5, 1023), (2, 7, 130))
timing = sizes(axes, (16, 1024, 4096), (64, 1024, 4096), (16, 1024, 2048))
