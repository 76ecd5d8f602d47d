"""The feed-forward block of Llama: down(silu(gate(x)) * up(x))."""

import torch.nn.functional as F
from suite import normal, sizes, weight


def forward(x, gate, up, down):
    return F.linear(F.silu(F.linear(x, gate)) * F.linear(x, up), down)


def arguments(batch, tokens, width, hidden_width):
    return dict(
        x=normal(batch, tokens, width),
        gate=weight(hidden_width, width),
        up=weight(hidden_width, width),
        down=weight(width, hidden_width),
    )


axes = "batch tokens width hidden_width"
quick = sizes(axes, (2, 8, 32, 64))
hidden = sizes(axes, (1, 1, 7, 5), (2, 3, 33, 65), (3, 17, 40, 101))
timing = sizes(axes, (2, 128, 4096, 14336), (4, 1024, 4096, 14336), (2, 128, 2048, 7168), (4, 1024, 2048, 7168))
