"""Product of two transposed matrices."""

import torch
import torch.nn as nn
import torch.nn.functional as F

rows = 48
depth = 64
columns = 80


class Model(nn.Module):
    def forward(self, a, b):
        return torch.matmul(a.T, b.T)


def get_inputs():
    return [torch.rand(depth, rows), torch.rand(columns, depth)]


def get_init_inputs():
    return []
