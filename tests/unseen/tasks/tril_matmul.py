import torch
import torch.nn as nn


class Model(nn.Module):
    """The product of two lower triangular matrices."""

    def __init__(self):
        super(Model, self).__init__()

    def forward(self, A, B):
        return torch.tril(torch.matmul(A, B))


M = 4096


def get_inputs():
    A = torch.rand(M, M)
    B = torch.rand(M, M)
    return [torch.tril(A), torch.tril(B)]


def get_init_inputs():
    return []
