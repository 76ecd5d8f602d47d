"""2-d convolution in which every channel has its own filter."""

import torch.nn.functional as F
from suite import normal, sizes, weight


def forward(x, weight, bias, stride, padding):
    return F.conv2d(x, weight, bias, stride, padding, groups=x.shape[1])


def arguments(batch, channels, size, kernel=3, stride=1, padding=1):
    return dict(x=normal(batch, channels, size, size), weight=weight(channels, 1, kernel, kernel),
                bias=normal(channels), stride=stride, padding=padding)


quick = sizes("batch channels size", (2, 8, 12))
hidden = sizes("batch channels size kernel stride padding",
               (1, 1, 3, 3, 1, 0), (3, 5, 9, 3, 2, 1), (2, 7, 11, 5, 1, 2))
timing = sizes("batch channels size", (16, 256, 112), (64, 960, 7))
