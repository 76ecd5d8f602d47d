"""Triplet margin loss."""

import torch
import torch.nn as nn
import torch.nn.functional as F

rows = 48
width = 96


class Model(nn.Module):
    def forward(self, a, p, n):
        return F.triplet_margin_loss(a, p, n, margin=1.0)


def get_inputs():
    return [torch.rand(rows, width), torch.rand(rows, width), torch.rand(rows, width)]


def get_init_inputs():
    return []
