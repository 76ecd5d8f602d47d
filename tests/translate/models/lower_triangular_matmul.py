"""Product of lower triangular matrices."""

import torch
import torch.nn as nn
import torch.nn.functional as F

size = 64


class Model(nn.Module):
    def forward(self, a, b):
        return torch.tril(torch.matmul(a, b))


def get_inputs():
    return [torch.tril(torch.rand(size, size)), torch.tril(torch.rand(size, size))]


def get_init_inputs():
    return []
