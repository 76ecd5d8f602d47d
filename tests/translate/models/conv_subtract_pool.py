"""Convolution, subtraction, hard swish and maximum pooling."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 4
inputs = 8
outputs = 12
size = 16


class Model(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, 3)

    def forward(self, x):
        return F.max_pool2d(F.hardswish(self.conv(x) - 0.5), 2)


def get_inputs():
    return [torch.rand(batch, inputs, size, size)]


def get_init_inputs():
    return [inputs, outputs]
