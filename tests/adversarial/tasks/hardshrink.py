"""Values between -0.375 and 0.375 become zero."""

import torch


def forward(x):
    return torch.nn.functional.hardshrink(x, 0.375)


def arguments(rows, width):
    return dict(x=torch.randn(rows, width))


quick = [dict(rows=16, width=64)]
hidden = [dict(rows=1, width=1), dict(rows=3, width=37), dict(rows=5, width=130)]
timing = [dict(rows=2048, width=4096)]
