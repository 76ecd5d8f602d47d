"""1-d convolution with bias, stride, padding and dilation."""

import torch.nn.functional as F
from suite import normal, sizes, weight


def forward(x, weight, bias, stride, padding, dilation):
    return F.conv1d(x, weight, bias, stride, padding, dilation)


def arguments(batch, in_channels, out_channels, length, kernel=3, stride=1, padding=1, dilation=1):
    return dict(
        x=normal(batch, in_channels, length), weight=weight(out_channels, in_channels, kernel),
        bias=normal(out_channels), stride=stride, padding=padding, dilation=dilation,
    )


quick = sizes("batch in_channels out_channels length", (2, 4, 8, 64))
hidden = sizes("batch in_channels out_channels length kernel stride padding dilation",
               (1, 1, 1, 3, 3, 1, 0, 1), (3, 5, 7, 33, 3, 2, 1, 2), (2, 3, 4, 41, 5, 3, 2, 1))
timing = sizes("batch in_channels out_channels length", (32, 64, 128, 131072), (16, 512, 512, 3000))
