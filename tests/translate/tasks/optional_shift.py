"""Halves of rows swapped, and shifted where a shift is given: arguments that may be None, two sides of a
concatenation, a sum that is a result and part of another one."""

import torch
from suite import normal, sizes


def forward(x, y, shift):
    total = x + y
    left, right = total.chunk(2, -1)
    turned = torch.cat((-right, left), -1)
    if shift is not None:
        turned = turned + shift
    return turned * torch.rsqrt(total.pow(2).mean(-1, keepdim=True) + 1.0), total


def arguments(rows, width, shifted):
    return dict(x=normal(rows, width), y=normal(rows, width), shift=normal(width) if shifted else None)


axes = "rows width shifted"
quick = sizes(axes, (8, 64, 0))
hidden = sizes(axes, (1, 2, 0), (3, 34, 1), (5, 10, 0), (2, 258, 1))
timing = sizes(axes, (2048, 1024, 1))
