"""2-d convolution with bias, stride and padding."""

import torch.nn.functional as F
from suite import normal, sizes, weight

backward = "go x weight bias stride padding"


def forward(x, weight, bias, stride, padding):
    return F.conv2d(x, weight, bias, stride, padding)


def arguments(batch, in_channels, out_channels, size, kernel=3, stride=1, padding=1):
    return dict(
        x=normal(batch, in_channels, size, size),
        weight=weight(out_channels, in_channels, kernel, kernel),
        bias=normal(out_channels),
        stride=stride,
        padding=padding,
    )


quick = sizes("batch in_channels out_channels size", (2, 4, 8, 8))
hidden = sizes("batch in_channels out_channels size kernel stride padding",
               (1, 1, 1, 3, 3, 1, 0), (3, 5, 7, 9, 3, 2, 1), (2, 3, 4, 11, 5, 3, 2), (1, 6, 5, 7, 1, 1, 0))
timing = sizes("batch in_channels out_channels size",
               (8, 64, 64, 32), (32, 256, 256, 32), (16, 128, 128, 32), (16, 256, 256, 32))
