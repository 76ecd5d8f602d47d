"""The k largest elements of each row in descending order, and where they are."""

import torch
from suite import normal, sizes


def forward(x, k):
    return torch.topk(x, k)


def arguments(rows, width, k):
    return dict(x=normal(rows, width), k=k)


axes = "rows width k"
quick = sizes(axes, (16, 128, 4))
hidden = sizes(axes, (1, 1, 1), (7, 33, 5), (3, 300, 1), (2, 17, 17))
timing = sizes(axes, (4096, 4096, 8), (128, 128256, 50))
