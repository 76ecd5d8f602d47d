"""Scaled cast from float32 to float16 and bfloat16."""

import torch
from suite import normal, sizes

forward_only = True
dtypes = ["float32"]


def forward(x, scale):
    scaled = x * scale
    return scaled.to(torch.float16), scaled.to(torch.bfloat16)


def arguments(count, scale=0.5):
    return dict(x=normal(count), scale=scale)


quick = sizes("count", (4096,))
hidden = sizes("count", (1,), (33,), (1027,), (1030,))
timing = sizes("count", (268435456,))
