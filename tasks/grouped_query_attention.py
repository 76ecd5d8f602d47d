"""Causal attention in which several query heads share one key and value head."""

import torch.nn.functional as F
from suite import normal, sizes


def forward(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)


def arguments(batch, heads, kv_heads, tokens, width):
    shared = (batch, kv_heads, tokens, width)
    return dict(q=normal(batch, heads, tokens, width), k=normal(*shared), v=normal(*shared))


axes = "batch heads kv_heads tokens width"
quick = sizes(axes, (1, 4, 2, 24, 16))
hidden = sizes(axes, (1, 2, 1, 1, 8), (2, 6, 2, 17, 8), (1, 3, 1, 70, 12))
timing = sizes(axes, (4, 32, 8, 2048, 128), (1, 64, 8, 4096, 128))
