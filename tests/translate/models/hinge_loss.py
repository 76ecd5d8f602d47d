"""Hinge loss."""

import torch
import torch.nn as nn
import torch.nn.functional as F

rows = 200


class Model(nn.Module):
    def forward(self, a, b):
        return torch.mean(torch.clamp(1 - a * b, min=0))


def get_inputs():
    return [torch.randn(rows), torch.randint(0, 2, (rows,)).float() * 2 - 1]


def get_init_inputs():
    return []
