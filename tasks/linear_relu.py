"""Linear layer with bias and ReLU."""

import torch.nn.functional as F
from suite import normal, sizes, weight

backward = "go x weight bias"


def forward(x, weight, bias):
    return F.relu(F.linear(x, weight, bias))


def arguments(batch, inputs, outputs):
    return dict(x=normal(batch, inputs), weight=weight(outputs, inputs), bias=normal(outputs, scale=0.5))


axes = "batch inputs outputs"
quick = sizes(axes, (16, 64, 32))
hidden = sizes(axes, (1, 1, 2), (5, 33, 17), (3, 100, 7), (33, 9, 65))
timing = sizes(axes, (64, 1600, 128), (64, 512, 256), (4, 512, 256), (4, 128, 128))
