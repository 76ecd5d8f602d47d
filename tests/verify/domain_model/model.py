import torch
from torch import nn


class Model(nn.Module):
    """Twice the positive part."""

    def forward(self, x):
        return torch.relu(x) * 2


def get_inputs():
    return [torch.randn(9, 70)]
