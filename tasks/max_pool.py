"""2x2 maximum pooling."""

import torch.nn.functional as F
from suite import normal, sizes

backward = "go x"


def forward(x):
    return F.max_pool2d(x, 2)


def arguments(batch, channels, size):
    return dict(x=normal(batch, channels, size, size))


axes = "batch channels size"
quick = sizes(axes, (2, 8, 16))
hidden = sizes(axes, (1, 1, 2), (3, 5, 13), (2, 7, 9), (1, 33, 6))
timing = sizes(axes, (64, 64, 28), (64, 128, 12))
