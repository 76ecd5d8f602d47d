import torch
from torch import nn


class Model(nn.Module):
    """Another function in each mode: a model that trains drops half of its input."""

    def __init__(self):
        super().__init__()
        self.dropout = nn.Dropout(0.5)

    def forward(self, x):
        return self.dropout(x) * 3


def get_inputs():
    return [torch.randn(7, 65)]
