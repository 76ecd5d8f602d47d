"""3-d convolution."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 2
inputs = 8
outputs = 9
size = 10


class Model(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv = nn.Conv3d(inputs, outputs, 3, bias=False)

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.rand(batch, inputs, size, size, size)]


def get_init_inputs():
    return [inputs, outputs]
