"""Rows of a table chosen by indices."""

import torch.nn.functional as F
from suite import integers, normal, sizes


def forward(indices, table):
    return F.embedding(indices, table)


def arguments(batch, tokens, entries, width):
    return dict(indices=integers(entries, batch, tokens), table=normal(entries, width))


axes = "batch tokens entries width"
quick = sizes(axes, (4, 16, 50, 32))
hidden = sizes(axes, (1, 1, 1, 1), (3, 7, 11, 33), (2, 65, 5, 10))
timing = sizes(axes, (8, 2048, 128256, 4096))
