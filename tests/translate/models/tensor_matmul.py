"""A product over the last axis of a tensor with four."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 8
height = 12
width = 10
depth = 16
outputs = 24


class Model(nn.Module):
    def forward(self, a, b):
        return torch.einsum("bijl,lk->bijk", a, b)


def get_inputs():
    return [torch.rand(batch, height, width, depth), torch.rand(depth, outputs)]


def get_init_inputs():
    return []
