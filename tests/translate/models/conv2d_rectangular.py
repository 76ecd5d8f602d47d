"""Convolution with a rectangular filter, dilation and padding."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 2
inputs = 8
outputs = 12
height = 20
width = 24


class Model(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, (3, 5), stride=2, padding=(1, 2), dilation=(2, 1))

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.rand(batch, inputs, height, width)]


def get_init_inputs():
    return [inputs, outputs]
