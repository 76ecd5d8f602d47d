"""Sum of the squares of each row."""

import torch


def forward(x):
    return x.square().sum(-1)


def arguments(rows, width):
    return dict(x=torch.randn(rows, width))


quick = [dict(rows=16, width=64)]
hidden = [dict(rows=1, width=1), dict(rows=3, width=37), dict(rows=5, width=1100)]
timing = [dict(rows=256, width=16384), dict(rows=64, width=32768)]
