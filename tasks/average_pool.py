"""2-d average pooling with stride and padding."""

import torch.nn.functional as F
from suite import normal, sizes


def forward(x, kernel, stride, padding):
    return F.avg_pool2d(x, kernel, stride, padding)


def arguments(batch, channels, size, kernel=2, stride=2, padding=0):
    return dict(x=normal(batch, channels, size, size), kernel=kernel, stride=stride, padding=padding)


quick = sizes("batch channels size", (2, 8, 16))
hidden = sizes("batch channels size kernel stride padding",
               (1, 1, 2, 2, 2, 0), (3, 5, 13, 3, 2, 1), (2, 7, 9, 3, 1, 1))
timing = sizes("batch channels size", (16, 64, 256))
