"""1-d average pooling with padding."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 4
channels = 8
length = 50


class Model(nn.Module):
    def forward(self, x):
        return F.avg_pool1d(x, 4, stride=2, padding=1)


def get_inputs():
    return [torch.rand(batch, channels, length)]


def get_init_inputs():
    return []
