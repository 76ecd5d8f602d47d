"""Linear layer with bias."""

import torch.nn.functional as F
from suite import normal, sizes, weight

backward = "go x weight"


def forward(x, weight, bias):
    return F.linear(x, weight, bias)


def arguments(batch, inputs, outputs):
    return dict(x=normal(batch, inputs), weight=weight(outputs, inputs), bias=normal(outputs))


# The gradient of the bias needs no argument of its own: it is the sum of go.
axes = "batch inputs outputs"
quick = sizes(axes, (16, 64, 32))
hidden = sizes(axes, (1, 1, 1), (5, 33, 17), (3, 130, 7), (31, 5, 65))
timing = sizes(axes, (64, 128, 10), (64, 4096, 4096), (4, 4096, 4096), (4, 128, 10))
