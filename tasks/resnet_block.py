"""The basic block of ResNet in training: two 3x3 convolutions with batch statistics and a shortcut, which
is the input itself or a strided 1x1 convolution."""

import torch.nn.functional as F
from suite import normal, sizes, weight


def normalise(x, scale, shift):
    return F.batch_norm(x, None, None, scale, shift, training=True)


def forward(x, conv1, scale1, shift1, conv2, scale2, shift2, shortcut, shortcut_scale, shortcut_shift, stride):
    y = F.relu(normalise(F.conv2d(x, conv1, stride=stride, padding=1), scale1, shift1))
    y = normalise(F.conv2d(y, conv2, padding=1), scale2, shift2)
    if shortcut is not None:
        x = normalise(F.conv2d(x, shortcut, stride=stride), shortcut_scale, shortcut_shift)
    return F.relu(y + x)


def arguments(batch, in_channels, channels, size, stride=1):
    changes = stride != 1 or in_channels != channels
    scale = lambda: normal(channels, mean=1.0, scale=0.1)
    return dict(
        x=normal(batch, in_channels, size, size),
        conv1=weight(channels, in_channels, 3, 3), scale1=scale(), shift1=normal(channels, scale=0.1),
        conv2=weight(channels, channels, 3, 3), scale2=scale(), shift2=normal(channels, scale=0.1),
        shortcut=weight(channels, in_channels, 1, 1) if changes else None,
        shortcut_scale=scale() if changes else None,
        shortcut_shift=normal(channels, scale=0.1) if changes else None,
        stride=stride,
    )


axes = "batch in_channels channels size stride"
quick = sizes(axes, (2, 4, 4, 8, 1))
hidden = sizes(axes, (1, 3, 5, 7, 1), (2, 3, 6, 9, 2), (3, 5, 5, 5, 1))
timing = sizes(axes, (32, 64, 64, 224, 1), (16, 64, 128, 56, 2), (16, 256, 512, 28, 2), (16, 512, 512, 14, 1))
