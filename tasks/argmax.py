"""Index of the largest element of each row."""

import torch
from suite import normal, sizes

forward_only = True  # an index has no gradient


def forward(x):
    return torch.argmax(x, -1)


def arguments(rows, width):
    return dict(x=normal(rows, width))


axes = "rows width"
quick = sizes(axes, (32, 256))
hidden = sizes(axes, (5, 2), (7, 33), (3, 1025), (5, 100))
timing = sizes(axes, (4096, 4096), (128, 128256))
