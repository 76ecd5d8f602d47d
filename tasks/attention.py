"""Scaled dot-product attention, every token sees every token."""

import torch.nn.functional as F
from suite import normal, sizes


def forward(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


def arguments(batch, heads, queries, keys, width):
    return dict(
        q=normal(batch, heads, queries, width),
        k=normal(batch, heads, keys, width),
        v=normal(batch, heads, keys, width),
    )


axes = "batch heads queries keys width"
quick = sizes(axes, (1, 2, 32, 32, 16))
hidden = sizes(axes, (1, 1, 1, 1, 8), (2, 3, 17, 33, 8), (1, 2, 5, 70, 20))
timing = sizes(axes, (4, 32, 2048, 2048, 128), (16, 16, 512, 512, 64))
