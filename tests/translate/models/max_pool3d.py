"""3-d maximum pooling with padding and dilation."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 2
channels = 8
size = 12


class Model(nn.Module):
    def forward(self, x):
        return F.max_pool3d(x, 3, stride=2, padding=1, dilation=1)


def get_inputs():
    return [torch.rand(batch, channels, size, size, size)]


def get_init_inputs():
    return []
