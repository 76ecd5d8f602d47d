"""Softmax of values close to one another: all outputs are nearly 1 / width."""

import torch


def forward(x):
    return torch.softmax(x * 0.01, -1)


def arguments(rows, width):
    return dict(x=torch.randn(rows, width))


quick = [dict(rows=8, width=256)]
hidden = [dict(rows=1, width=1), dict(rows=3, width=33)]
timing = [dict(rows=4096, width=4096)]
