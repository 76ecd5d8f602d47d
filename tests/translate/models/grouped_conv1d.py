"""Grouped 1-d convolution."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 3
inputs = 8
outputs = 16
length = 40


class Model(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv = nn.Conv1d(inputs, outputs, 3, groups=4)

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.rand(batch, inputs, length)]


def get_init_inputs():
    return [inputs, outputs]
