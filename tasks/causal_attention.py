"""Scaled dot-product attention in which a token sees only itself and those before it."""

import torch.nn.functional as F
from suite import normal, sizes


def forward(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def arguments(batch, heads, tokens, width):
    shape = (batch, heads, tokens, width)
    return dict(q=normal(*shape), k=normal(*shape), v=normal(*shape))


axes = "batch heads tokens width"
quick = sizes(axes, (1, 2, 32, 16))
hidden = sizes(axes, (1, 1, 1, 8), (2, 3, 17, 8), (1, 2, 65, 20))
timing = sizes(axes, (4, 32, 2048, 128), (1, 16, 8192, 64))
