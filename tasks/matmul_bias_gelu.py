"""Matrix product with bias and the tanh form of GELU."""

import torch.nn.functional as F
from suite import normal, sizes, weight


def forward(a, b, bias):
    return F.gelu(a @ b + bias, approximate="tanh")


def arguments(m, n, k):
    return dict(a=normal(m, k), b=weight(n, k).t().contiguous(), bias=normal(n))


quick = sizes("m n k", (32, 32, 32))
hidden = sizes("m n k", (1, 1, 1), (17, 33, 5), (7, 65, 130), (100, 3, 31))
timing = sizes("m n k", (4096, 4096, 4096), (8192, 11008, 4096))
