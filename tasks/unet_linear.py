"""Linear layer with bias on a batch of sequences."""

import torch.nn.functional as F
from suite import normal, sizes, weight

backward = "go x weight"


def forward(x, weight, bias):
    return F.linear(x, weight, bias)


def arguments(batch, tokens, inputs, outputs):
    return dict(x=normal(batch, tokens, inputs), weight=weight(outputs, inputs), bias=normal(outputs))


axes = "batch tokens inputs outputs"
quick = sizes(axes, (2, 16, 32, 32))
hidden = sizes(axes, (1, 1, 1, 3), (3, 5, 33, 7), (2, 17, 9, 65))
timing = sizes(axes, (64, 256, 128, 128), (32, 256, 64, 64), (128, 256, 128, 128))
