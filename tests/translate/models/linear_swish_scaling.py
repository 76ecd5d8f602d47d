"""A linear layer, swish and a scale."""

import torch
import torch.nn as nn
import torch.nn.functional as F

rows = 32
inputs = 48
outputs = 40


class Model(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, x):
        y = self.linear(x)
        return y * torch.sigmoid(y) * 2.0


def get_inputs():
    return [torch.rand(rows, inputs)]


def get_init_inputs():
    return [inputs, outputs]
