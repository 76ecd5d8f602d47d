"""Hard swish."""

import torch
import torch.nn as nn
import torch.nn.functional as F

rows = 48
width = 96


class Model(nn.Module):
    def forward(self, x):
        return F.hardswish(x)


def get_inputs():
    return [torch.randn(rows, width)]


def get_init_inputs():
    return []
