"""Rotary position embedding: pairs of halves turned by an angle that grows with the position."""

import torch
from suite import normal, sizes

gradients = ["x"]


def forward(x, cosine, sine):
    left, right = x.chunk(2, -1)
    return x * cosine + torch.cat((-right, left), -1) * sine


def arguments(batch, heads, tokens, width, base=10000.0):
    frequency = base ** (-torch.arange(0, width, 2).float() / width)
    angle = torch.arange(tokens).float()[:, None] * frequency[None, :]
    angle = torch.cat((angle, angle), -1)
    return dict(x=normal(batch, heads, tokens, width), cosine=angle.cos(), sine=angle.sin())


axes = "batch heads tokens width"
quick = sizes(axes, (2, 2, 16, 32))
hidden = sizes(axes, (1, 1, 1, 2), (3, 5, 7, 6), (2, 3, 33, 10))
timing = sizes(axes, (4, 32, 4096, 128))
