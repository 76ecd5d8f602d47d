"""Leaky ReLU."""

import torch
import torch.nn as nn
import torch.nn.functional as F

rows = 48
width = 96


class Model(nn.Module):
    def __init__(self, slope):
        super().__init__()
        self.slope = slope

    def forward(self, x):
        return F.leaky_relu(x, self.slope)


def get_inputs():
    return [torch.rand(rows, width) - 0.5]


def get_init_inputs():
    return [0.01]
