"""Position of the minimum of a middle axis."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 8
rows = 24
width = 32


class Model(nn.Module):
    def forward(self, x):
        return torch.argmin(x, dim=1)


def get_inputs():
    return [torch.rand(batch, rows, width)]


def get_init_inputs():
    return []
