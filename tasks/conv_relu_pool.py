"""Convolution with bias, ReLU, and 2x2 maximum pooling."""

import torch.nn.functional as F
from suite import normal, sizes, weight

backward = "go x weight bias"


def forward(x, weight, bias):
    return F.max_pool2d(F.relu(F.conv2d(x, weight, bias)), 2)


def arguments(batch, in_channels, out_channels, size, kernel=3):
    return dict(
        x=normal(batch, in_channels, size, size),
        weight=weight(out_channels, in_channels, kernel, kernel),
        bias=normal(out_channels, scale=0.5),
    )


axes = "batch in_channels out_channels size"
quick = sizes(axes, (2, 3, 8, 14))
hidden = sizes(axes, (1, 1, 1, 4), (3, 2, 5, 13), (2, 5, 7, 11), (1, 3, 4, 15))
timing = sizes(axes, (64, 1, 32, 28), (64, 32, 64, 13), (64, 1, 64, 28))
